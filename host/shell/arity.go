package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// pattern is what an approval for always saves: the program with its subcommand
// and any arguments; only the command itself where other arguments would make it
// another program, or where an option stands before the subcommand.
func pattern(words []word) string {
	if n := prefix(words); n > 0 {
		return text(words[:n]) + " *"
	}
	if slices.ContainsFunc(words, func(w word) bool { return !w.static }) {
		return ""
	}
	if exact := text(words); !strings.ContainsAny(exact, `*?\`) {
		return exact
	}
	return ""
}

// simple is a word that a pattern may begin with.
var simple = regexp.MustCompile(`^([A-Za-z0-9_./@+][A-Za-z0-9_./:@+-]*|\[)$`)

// prefix is how many words say what is run, 0 when all of them do.
func prefix(words []word) int {
	if len(words) == 0 {
		return 0
	}
	name := path.Base(words[0].text)
	if _, wraps := wrappers[name]; wraps || runners[name] != "" {
		return 0
	}
	n, ok := arity[name]
	if !ok {
		n = 1
	}
	for longer := 2; longer <= n && longer <= len(words); longer++ {
		name += " " + words[longer-1].text
		if deeper, ok := arity[name]; ok {
			n = deeper
		}
	}
	through := n < 0
	if through {
		n = -n
	}
	if n == 0 || n > len(words) || slices.ContainsFunc(words[:n], func(w word) bool { return !w.static || !simple.MatchString(w.text) }) {
		return 0
	}
	if through {
		rest := prefix(words[n:])
		if rest == 0 {
			return 0
		}
		return n + rest
	}
	return n
}

// arity is how many words of a command say what it does: 2 for "git push". 0 are
// those that run whatever their arguments say, and with -2 the two words are
// followed by a command that says it. Programs not named here are 1.
var arity = map[string]int{
	// What runs other programs, here or elsewhere.
	"awk": 0, "gawk": 0, "mawk": 0, "nawk": 0, "sed": 0, "gsed": 0, "find": 0, "gfind": 0,
	"ssh": 0, "scp": 0, "sftp": 0, "rsync": 0, "ftp": 0, "tar": 0, "bsdtar": 0, "gtar": 0, "zip": 0,
	"vi": 0, "vim": 0, "nvim": 0, "view": 0, "emacs": 0, "ed": 0, "ex": 0, "lldb": 0, "m4": 0, "nc": 0, "ncat": 0, "socat": 0, "dd": 0,
	"eval": 0, "source": 0, ".": 0, "trap": 0, "alias": 0, "set": 0, "shopt": 0, "export": 0, "declare": 0, "typeset": 0, "local": 0, "readonly": 0,
	"let": 0, "unset": 0,

	"psql": 0, "mysql": 0, "mariadb": 0, "sqlite3": 0, "irb": 0, "ghci": 0, "R": 0, "tclsh": 0, "wish": 0, "osascript": 0, "pwsh": 0,

	// With a script behind them; with an option they run whatever it says.
	"bash": 2, "rbash": 2, "sh": 2, "dash": 2, "ash": 2, "zsh": 2, "ksh": 2, "mksh": 2, "fish": 2, "csh": 2, "tcsh": 2,
	"python": 2, "python2": 2, "python3": 2, "pypy": 2, "pypy3": 2, "node": 2, "nodejs": 2, "tsx": 2, "ts-node": 2, "perl": 2, "ruby": 2, "php": 2,
	"lua": 2, "luajit": 2, "julia": 2, "Rscript": 2,

	// With a subcommand.
	"git": 2, "git bisect": 3, "git config": 3, "git remote": 3, "git stash": 3, "git submodule": 3, "git worktree": 3, "git notes": 3, "git lfs": 3,
	"git flow": 3, "git rebase": 0, "git bisect run": 0, "git submodule foreach": 0, "git difftool": 0, "git mergetool": 0, "git filter-branch": 0, "gh": 3, "glab": 3, "hub": 2, "svn": 2, "hg": 2, "jj": 2,
	"go": 2, "go mod": 3, "go tool": 3, "go work": 3, "go run": 3, "cargo": 2, "rustup": 2, "rustup target": 3, "rustup toolchain": 3, "zig": 2,
	"npm": 2, "npm run": 3, "npm exec": -2, "npm config": 3, "npx": -1, "yarn": 2, "yarn run": 3, "yarn dlx": -2, "pnpm": 2, "pnpm run": 3, "pnpm exec": -2,
	"pnpm dlx": -2, "bun": 2, "bun run": 3, "bun x": -2, "bunx": -1, "deno": 2, "deno task": 3, "deno run": 3, "turbo": 2, "turbo run": 3, "nx": 2, "lerna": 2,
	"corepack": 2, "ng": 2, "vite": 2, "composer": 2, "artisan": 2,
	"pip": 2, "pip3": 2, "pipx": 2, "pipx run": -2, "poetry": 2, "poetry run": -2, "pdm": 2, "pdm run": -2, "uv": 2, "uv run": -2, "uv pip": 3, "uv tool": 3,
	"uvx": -1, "conda": 2, "conda env": 3, "conda run": -2, "mamba": 2, "pyenv": 2, "hatch": 2, "hatch run": -2, "django-admin": 2,
	"bundle": 2, "bundle exec": -2, "gem": 2, "rails": 2, "rake": 2, "mix": 2, "rebar3": 2, "dotnet": 2, "dotnet tool": 3, "nuget": 2,
	"mvn": 2, "gradle": 2, "gradlew": 2, "mvnw": 2, "sbt": 2, "bazel": 2, "bazelisk": 2, "make": 2, "gmake": 2, "just": 2, "task": 2,
	"cmake": 0, "meson": 2, "xcodebuild": 2, "xcrun": -1, "swift": 2, "flutter": 2, "dart": 2, "pod": 2, "fastlane": 2,
	"docker": 2, "docker compose": 3, "docker container": 3, "docker image": 3, "docker volume": 3, "docker network": 3, "docker builder": 3,
	"docker buildx": 3, "docker context": 3, "docker system": 3, "docker run": 0, "docker exec": 0, "docker compose exec": 0, "docker compose run": 0,
	"docker container run": 0, "docker container exec": 0, "docker-compose": 2, "podman": 2, "podman run": 0, "podman exec": 0, "podman container": 3,
	"kubectl": 2, "kubectl exec": 0, "kubectl run": 0, "kubectl config": 3, "kubectl rollout": 3, "kustomize": 2, "helm": 2, "helm repo": 3, "minikube": 2, "kind": 2,
	"terraform": 2, "terraform workspace": 3, "terraform state": 3, "tofu": 2, "pulumi": 2, "ansible": 0, "ansible-playbook": 2, "vagrant": 2, "packer": 2,
	"aws": 3, "gcloud": 3, "az": 3, "doctl": 3, "fly": 2, "flyctl": 2, "heroku": 2, "vercel": 2, "netlify": 2, "wrangler": 2, "firebase": 2, "sam": 2, "eb": 2,
	"apt": 2, "apt-get": 2, "apt-cache": 2, "dpkg": 2, "dnf": 2, "yum": 2, "apk": 2, "pacman": 2, "brew": 2, "brew services": 3, "port": 2, "snap": 2,
	"flatpak": 2, "nix": 2, "asdf": 2, "mise": 2, "nvm": 2, "fnm": 2, "volta": 2, "sdk": 2, "rbenv": 2,
	"systemctl": 2, "launchctl": 2, "service": 3, "loginctl": 2, "ip": 2, "nmcli": 2, "ufw": 2, "openssl": 2, "tmux": 0, "screen": 0,
	"redis-cli": 2, "rabbitmqctl": 2, "consul": 2, "vault": 2, "etcdctl": 2, "mc": 2, "rclone": 2, "restic": 2, "supabase": 2, "prisma": 2,
	"alembic": 2, "flask": 2, "pre-commit": 2, "buf": 2, "sqlc": 2, "goose": 2, "kubeadm": 2, "istioctl": 2,
}
