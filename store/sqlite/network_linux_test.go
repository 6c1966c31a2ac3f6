package sqlite

import "testing"

func TestNetworkNames(t *testing.T) {
	for magic, want := range map[uint32]string{
		0x6969: "NFS", 0xff534d42: "SMB", 0xfe534d42: "SMB", 0x01021997: "9p", 0x00c36400: "CephFS",
		0xef53: "", 0x58465342: "", 0x9123683e: "", 0x01021994: "", 0x794c7630: "",
	} {
		if got := networkName(magic); got != want {
			t.Errorf("%#x is %q, want %q", magic, got, want)
		}
	}
}

func TestFuseMounts(t *testing.T) {
	cases := []struct {
		line, point, system string
		network             bool
	}{
		{`36 35 98:0 / /mnt/far rw,noatime master:1 - fuse.sshfs me@host:/ rw`, "/mnt/far", "fuse.sshfs", true},
		{`36 35 98:0 / /mnt/my\040disk rw - fuse.ntfs-3g /dev/sdb1 rw`, "/mnt/my disk", "fuse.ntfs-3g", false},
		{`36 35 98:0 /root / rw,noatime - ext4 /dev/root rw`, "/", "ext4", false},
	}
	for _, c := range cases {
		point, system := mountOf(c.line)
		if point != c.point || system != c.system || networkFuse(system) != c.network {
			t.Errorf("%s: %q %q %v", c.line, point, system, networkFuse(system))
		}
	}
	for path, want := range map[string]bool{"/mnt/far": true, "/mnt/far/x": true, "/mnt/farther": false, "/mnt": false} {
		if covers("/mnt/far", path) != want {
			t.Errorf("covers %s: %v", path, !want)
		}
	}
	if !covers("/", "/x") || covers("", "/x") {
		t.Error("the root covers everything, an unreadable line nothing")
	}
}
