package sqlite

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// networkKind answers the name of the network file system that path is on, empty
// for a local one.
func networkKind(path string) (string, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return "", err
	}
	if uint32(stat.Type) == unix.FUSE_SUPER_MAGIC {
		return fuseKind(path)
	}
	return networkName(uint32(stat.Type)), nil
}

// networkName answers the name for a number of statfs, see statfs(2).
func networkName(magic uint32) string {
	switch magic {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "SMB"
	case unix.V9FS_MAGIC:
		return "9p"
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "AFS"
	case unix.CODA_SUPER_MAGIC:
		return "Coda"
	case unix.NCP_SUPER_MAGIC:
		return "NCP"
	case 0x00c36400:
		return "CephFS"
	case 0x0bd00bd0:
		return "Lustre"
	case 0x01161970:
		return "GFS2"
	case unix.OCFS2_SUPER_MAGIC:
		return "OCFS2"
	case 0x47504653:
		return "GPFS"
	}
	return ""
}

// fuseKind looks up which program serves a FUSE mount: many of them are local.
func fuseKind(path string) (string, error) {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer mounts.Close()
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	kind, longest := "", -1
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		point, system := mountOf(lines.Text())
		if covers(point, resolved) && len(point) >= longest {
			kind, longest = system, len(point)
		}
	}
	if !networkFuse(kind) {
		kind = ""
	}
	return kind, lines.Err()
}

// mountOf answers the mount point and the file system of a line of mountinfo.
func mountOf(line string) (point, system string) {
	before, after, _ := strings.Cut(line, " - ")
	if fields := strings.Fields(before); len(fields) > 4 {
		point = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
	}
	system, _, _ = strings.Cut(after, " ")
	return point, system
}

func covers(point, path string) bool {
	return point != "" && (path == point || strings.HasPrefix(path, strings.TrimSuffix(point, "/")+"/"))
}

func networkFuse(system string) bool {
	switch strings.TrimPrefix(system, "fuse.") {
	case "sshfs", "rclone", "s3fs", "s3backer", "goofys", "mountpoint-s3", "gcsfuse", "blobfuse", "blobfuse2",
		"glusterfs", "ceph-fuse", "davfs", "davfs2", "curlftpfs", "juicefs", "seaweedfs", "moosefs", "smbnetfs", "vmhgfs-fuse":
		return true
	}
	return false
}
