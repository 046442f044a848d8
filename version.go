package raybridge

import (
	_ "embed" // the archive's commit
	"runtime/debug"
	"strings"
)

// modulePath is that of this module.
const modulePath = "github.com/raybridge/raybridge"

// linked is what scripts/version.sh says of the checkout. The Makefile and scripts/dist.sh give it to the linker.
var linked string

// archived is filled in by `git archive`, which makes the source archives of releases:
// `git describe`, if there is a tag, and the commit.
//
//go:embed version.txt
var archived string

// Version is what this program was built from, for summaries and recordings. A build of a tag and
// `go install` of a version have the tag. One of another commit by make, as in packages, has that of a build before
// the next release, such as "v0.2.0-dev.20261122153000.1a2b3c4d5e6f"; one by Go alone has Go's name
// of the commit, such as "v0.1.1-0.20261122153000-1a2b3c4d5e6f". Both have "+dirty" if files were changed. A program
// that embeds raybridge has the version of the module that its go.mod asks for. Where nothing is known it is "dev".
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info, linked, archived)
}

// versionOf is Version of what a program knows of its build; info may be nil.
func versionOf(info *debug.BuildInfo, linked, archived string) string {
	if linked != "" {
		return linked
	}
	if info != nil {
		if v := stamped(info); v != "" {
			return v
		}
	}
	if strings.Contains(archived, "$") { // a checkout, or the module proxy's archive
		return "dev"
	}
	switch names := strings.Fields(archived); len(names) {
	case 0:
		return "dev"
	case 1:
		return short(names[0])
	default:
		return names[0]
	}
}

// stamped is what Go noted of this module, "" for nothing.
func stamped(info *debug.BuildInfo) string {
	module := &info.Main
	if module.Path != modulePath {
		for _, d := range info.Deps {
			if d.Path == modulePath {
				module = d
			}
		}
	}
	for module.Replace != nil {
		module = module.Replace
	}
	if module.Version != "" && module.Version != "(devel)" {
		return module.Version
	}
	if info.Main.Path != modulePath { // the commit is another's
		return ""
	}
	return commitOf(info.Settings)
}

// commitOf is the commit that Go found the checkout at, "" where it was told not to look.
func commitOf(settings []debug.BuildSetting) string {
	commit, changed := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = short(s.Value)
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+dirty"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + changed
}

// short is a commit as versions name it.
func short(commit string) string { return commit[:min(len(commit), 12)] }
