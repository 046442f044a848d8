package sweep

import (
	"regexp"
	"runtime"
	"runtime/debug"
)

var releaseForm = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// VersionOf is the version that cases of a program are of, within which equal cases give equal bytes on a class of
// devices. That of a release has the compiler, since anybody can build one, and other compilers give other bytes. Any
// other build has the program's hash.
func VersionOf(version, program string) (string, error) {
	if releaseForm.MatchString(version) {
		return version + " " + runtime.Version() + levelOf(debug.ReadBuildInfo()), nil
	}
	f, err := hashFile(program)
	return version + " sha256:" + f.SHA256, err
}

// levelOf is the level of the processor that a build is for, such as " GOAMD64=v1".
func levelOf(info *debug.BuildInfo, known bool) (text string) {
	if !known {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "GOAMD64" || s.Key == "GOARM64" {
			text += " " + s.Key + "=" + s.Value
		}
	}
	return text
}
