package sumo

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
)

// ErrOutside says that a file lies beyond the folder of the configuration that needs it.
var ErrOutside = errors.New("lies outside of the configuration's folder: put it there or below")

// ErrRandom says that a configuration has SUMO take another seed each time.
var ErrRandom = errors.New("SUMO's option random gives each run a seed of its own, so that no two are the same: remove it, and give seed a value")

// errMany: files name more files than anybody writes by hand.
var errMany = fmt.Errorf("names more than %d files", mostReferences)

const (
	mostReferences = 10_000
	mostUnpacked   = 4 << 30 // bytes of one file
)

// References returns the files that a configuration makes SUMO read, and those that these name in turn, such as by
// <include href="...">: relative to the configuration's folder, with slashes, sorted. They needn't exist. Files that
// SUMO writes aren't among them. A file beyond the folder is an ErrOutside, a configuration whose runs are never the same an
// ErrRandom.
func References(config string) ([]string, error) {
	c := &crawl{folder: filepath.Dir(config), seen: map[string]bool{}}
	if err := c.read(filepath.Base(config), c.option); err != nil {
		return nil, err
	}
	for len(c.next) > 0 {
		name := c.next[0]
		c.next = c.next[1:]
		if err := c.read(name, c.element); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	var names []string
	for name := range c.seen {
		names = append(names, filepath.ToSlash(name))
	}
	slices.Sort(names)
	return names, nil
}

// crawl goes from a configuration to the files that it names, and from those to others.
type crawl struct {
	folder string          // of the configuration, which names are relative to
	seen   map[string]bool // names
	next   []string        // those that aren't read yet
}

// read tells visit all elements of a file of XML, with their attributes and their own text. Files in another form, such as
// saved states, name no others.
func (c *crawl) read(name string, visit func(in, element string, attributes map[string]string) error) error {
	file := filepath.Join(c.folder, name)
	f, err := os.Open(file)
	if err != nil {
		return fault.File(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(fault.File(err), fmt.Errorf("%s is not a regular file", file))
	}
	plain := bufio.NewReader(f)
	if magic, _ := plain.Peek(2); string(magic) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(plain)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		plain = bufio.NewReader(&fault.Bounded{Reader: unpacked, Left: mostUnpacked, Err: errors.New("gzip file unpacks to too much")})
	}
	if begin, _ := plain.Peek(256); !bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(begin, []byte("\ufeff")), " \t\r\n"), []byte("<")) {
		return nil
	}
	if err := elements(plain, func(element string, attributes map[string]string) error { return visit(name, element, attributes) }); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// elements visits the elements of XML. The text of one is visited as its attribute "".
func elements(r io.Reader, visit func(element string, attributes map[string]string) error) error {
	d := xml.NewDecoder(r)
	d.Strict = false
	d.CharsetReader = func(_ string, text io.Reader) (io.Reader, error) { return text, nil } // names that count are ASCII
	for open := ""; ; {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read XML: %w", err)
		}
		attributes := map[string]string{}
		switch t := token.(type) {
		case xml.StartElement:
			open = t.Name.Local
			for _, a := range t.Attr {
				attributes[a.Name.Local] = a.Value
			}
		case xml.CharData:
			if text := string(bytes.TrimSpace(t)); text != "" && open != "" {
				attributes[""] = text
			}
		case xml.EndElement:
			open = ""
		}
		if len(attributes) == 0 {
			continue
		}
		if err := visit(open, attributes); err != nil {
			return err
		}
	}
}

var (
	// inputOption finds the options that name files to read, with the short forms that SUMO takes.
	inputOption = regexp.MustCompile(`^(?:n|net|net-file|r|routes|route-files|a|additional|additional-files|w|weights|weight-files|load-state)$`)
	// outputOption finds those that name files to write, which may be there from a run before.
	outputOption = regexp.MustCompile(`output|log|dump|save-|^(?:summary|tripinfo|vehroutes|netstate|l|emissions)$`)
)

// isTrue finds the words by which SUMO's switches are on.
var isTrue = regexp.MustCompile(`^(?i:true|1|yes|on|x|t)$`)

// option takes the files of an option of a configuration. Other options than inputOption name a file where there is one of
// that name, such as device.fcd-replay.file.
func (c *crawl) option(in, option string, attributes map[string]string) error {
	if outputOption.MatchString(option) && !strings.HasSuffix(option, ".input-file") {
		return nil
	}
	must := inputOption.MatchString(option)
	for _, value := range []string{attributes["value"], attributes["v"], attributes[""]} {
		if option == "random" && isTrue.MatchString(value) {
			return ErrRandom
		}
		if !must && !c.has(value) {
			continue
		}
		for name := range strings.SplitSeq(value, ",") {
			names := []string{strings.TrimSpace(name)}
			if !c.has(names[0]) {
				names = strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == ';' })
			}
			for _, one := range names {
				if err := c.add(in, one); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// has reports whether there is a file of a name.
func (c *crawl) has(name string) bool {
	info, err := os.Stat(filepath.Join(c.folder, name))
	return name != "" && err == nil && info.Mode().IsRegular()
}

// element takes the files of an element of a net, of routes, or of what else SUMO reads.
func (c *crawl) element(in, element string, attributes map[string]string) error {
	var names []string
	switch element {
	case "include":
		names = append(names, attributes["href"])
	case "rerouter", "variableSpeedSign", "calibrator", "trigger": // detectors write theirs
		names = append(names, attributes["file"])
	}
	for _, name := range append(names, attributes["edgesFile"]) {
		if name == "" {
			continue
		}
		if err := c.add(in, name); err != nil {
			return err
		}
	}
	return nil
}

// add takes a file by the name that another one has for it.
func (c *crawl) add(in, name string) error {
	local := filepath.Join(filepath.Dir(in), filepath.FromSlash(name))
	if filepath.IsAbs(name) || strings.Contains(name, "${") || strings.HasPrefix(name, "~") || !filepath.IsLocal(local) {
		return fmt.Errorf("%s %w", name, ErrOutside)
	}
	if c.seen[local] {
		return nil
	}
	if c.seen[local] = true; len(c.seen) > mostReferences {
		return errMany
	}
	c.next = append(c.next, local)
	return nil
}
