package scene

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"
	"unsafe"

	"github.com/raybridge/raybridge/gpu"
)

// CacheLimit is how many bytes of worlds and other files the cache keeps; the least recently
// used go first.
const CacheLimit = 2 << 30

// CacheDir returns the folder of the on-disk cache: raybridge below the user's
// cache folder ($XDG_CACHE_HOME). Build makes it when it is needed.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	return filepath.Join(dir, "raybridge"), nil
}

// keptSuffix is that of files of Keep.
const keptSuffix = ".kept"

const (
	cacheSuffix = ".world"
	cacheMagic  = "raybridge world\n"
	// cacheVersion changes with whatever changes the tables of an equal scene.
	cacheVersion = 2
)

// errCacheFile: the file is not what this version writes for the key.
var errCacheFile = errors.New("cache file is not usable")

// cacheHead is the first bytes of a cache file, little-endian. The tables
// follow in the order of its counts, then the CRC-32C of all before it.
type cacheHead struct {
	Magic       [16]byte
	Key         [32]byte
	Version     uint32
	Static      uint32
	StaticCount uint64
	Nodes       uint64
	Triangles   uint64
	Movers      uint64
}

// cachedMover is what a mover's triangles need beside the scene.
type cachedMover struct {
	First, Count uint64
	Root, _      uint32
	Min, Max     [3]float64
}

// cacheKey hashes everything that the tables follow from.
func (b *builder) cacheKey() [32]byte {
	meshes := make([][32]byte, len(b.scene.Meshes))
	cuts := b.scene.cuts()
	b.each(len(meshes), func(i int) { meshes[i] = b.scene.Meshes[i].hash(cuts) })
	h := sha256.New()
	put := func(v any) { _ = binary.Write(h, binary.LittleEndian, v) }
	put([]uint32{cacheVersion, maxLeaf, largeNode, largeBins, smallBins})
	put([]float64{costNode, costTriangle})
	put(b.geometry.Anchor)
	put(boolBit(b.scene.Occlusion))
	put(meshes)
	for at, a := range slices.Concat(b.scene.Actors, b.scene.Models) {
		static := at < len(b.scene.Actors) && a.Static()
		put(uint64(len(a.Parts))<<1 | uint64(boolBit(static)))
		if static {
			put(a.ID)
			put(a.Pose.Mat4())
		}
		for i := range a.Parts {
			p := &a.Parts[i]
			put(int64(p.Mesh))
			if static {
				put(p.Local)
				put(uint8(p.Tag))
			} else {
				stretch, _ := fixedStretch(p.At(0).Mat3())
				put(stretch)
				if p.Shape != nil {
					posed := p.Shape.meshAt(&b.scene.Meshes[p.Mesh], 0).hash(cuts)
					put(posed)
				}
			}
		}
	}
	return [32]byte(h.Sum(nil))
}

func boolBit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// hash returns the digest of what a mesh gives the tables.
func (m *Mesh) hash(cuts []bool) [32]byte {
	h := sha256.New()
	put := func(v any) { _ = binary.Write(h, binary.LittleEndian, v) }
	put([]uint64{uint64(len(m.Positions)), uint64(len(m.Normals)), uint64(len(m.UVs)), uint64(len(m.Indices))})
	h.Write(gpu.BytesOf(m.Positions))
	h.Write(gpu.BytesOf(m.Normals))
	h.Write(gpu.BytesOf(m.UVs))
	h.Write(gpu.BytesOf(m.Indices))
	if m.Colors != nil {
		put(uint64(len(m.Colors)))
		h.Write(gpu.BytesOf(m.Colors))
	}
	for _, g := range m.Groups {
		cut := g.Material >= 0 && g.Material < len(cuts) && cuts[g.Material]
		put([]int64{int64(g.First), int64(g.Count), int64(g.Material), int64(boolBit(cut))})
	}
	return [32]byte(h.Sum(nil))
}

func cachePath(dir string, key [32]byte) string {
	return filepath.Join(dir, hex.EncodeToString(key[:16])+cacheSuffix)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkedReader keeps the CRC of what was read.
type checkedReader struct {
	ctx  context.Context
	from io.Reader
	sum  uint32
}

// fill reads len(p) bytes, a piece at a time so that the sum finds them in the
// processor's cache.
func (r *checkedReader) fill(p []byte) error {
	const piece = 1 << 20
	for len(p) > 0 {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n := min(piece, len(p))
		if _, err := io.ReadFull(r.from, p[:n]); err != nil {
			return err
		}
		r.sum = crc32.Update(r.sum, castagnoli, p[:n])
		p = p[n:]
	}
	return nil
}

// load reads the world's tables from the cache.
func (b *builder) load(dir string, key [32]byte) error {
	path := cachePath(dir, key)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r := &checkedReader{ctx: b.ctx, from: f}
	var head cacheHead
	raw := make([]byte, binary.Size(head))
	if err := r.fill(raw); err != nil {
		return fmt.Errorf("%w: %w", errCacheFile, err)
	}
	if _, err := binary.Decode(raw, binary.LittleEndian, &head); err != nil {
		return fmt.Errorf("%w: %w", errCacheFile, err)
	}
	if err := head.check(key, info.Size()); err != nil {
		return err
	}
	t := &tables{
		nodes:    make([]BVHNode, head.Nodes),
		planes:   make([]Row, 3*head.Triangles),
		vertices: make([]Row, 3*head.Triangles), attributes: make([][4]uint32, 3*head.Triangles),
		movers: make([]cachedMover, head.Movers),
	}
	for _, p := range t.sections() {
		if err := r.fill(p); err != nil {
			return fmt.Errorf("%w: %w", errCacheFile, err)
		}
	}
	sum := r.sum
	var tail [4]byte
	if err := r.fill(tail[:]); err != nil || binary.LittleEndian.Uint32(tail[:]) != sum {
		return fmt.Errorf("%w: %s: its checksum differs", errCacheFile, path)
	}
	return b.adopt(&head, t)
}

// check holds a file's head beside what is looked for and the file's size.
func (h *cacheHead) check(key [32]byte, size int64) error {
	const most = 1 << 32
	switch {
	case string(h.Magic[:]) != cacheMagic || h.Version != cacheVersion || h.Key != key:
		return fmt.Errorf("%w: it is another world's", errCacheFile)
	case h.Nodes > most || h.Triangles > MaxTriangles || h.Movers > maxMovers || h.StaticCount > h.Triangles:
		return fmt.Errorf("%w: its counts are out of range", errCacheFile)
	case size != h.size():
		return fmt.Errorf("%w: it is %d bytes long instead of %d", errCacheFile, size, h.size())
	}
	return nil
}

func (h *cacheHead) size() int64 {
	n := int64(binary.Size(h)) + int64(h.Nodes)*int64(unsafe.Sizeof(BVHNode{}))
	return n + int64(h.Triangles)*3*3*16 + int64(h.Movers)*int64(unsafe.Sizeof(cachedMover{})) + 4
}

// tables are the parts of a cache file.
type tables struct {
	nodes            []BVHNode
	planes, vertices []Row
	attributes       [][4]uint32
	movers           []cachedMover
}

func (t *tables) sections() [][]byte {
	return [][]byte{gpu.BytesOf(t.nodes), gpu.BytesOf(t.planes), gpu.BytesOf(t.vertices), gpu.BytesOf(t.attributes), gpu.BytesOf(t.movers)}
}

// adopt gives the world what was read.
func (b *builder) adopt(h *cacheHead, t *tables) error {
	w := b.geometry
	movers, err := b.listMovers()
	if err != nil {
		return err
	}
	if len(movers) != len(t.movers) {
		return fmt.Errorf("%w: it has %d movers, the scene has %d", errCacheFile, len(t.movers), len(movers))
	}
	for i, c := range t.movers {
		m := &movers[i]
		m.First, m.Count, m.Root, m.Min, m.Max = int(c.First), int(c.Count), Ref(c.Root), c.Min, c.Max
	}
	w.Nodes, w.Planes, w.Vertices, w.Attributes = t.nodes, t.planes, t.vertices, t.attributes
	w.Static, w.StaticCount, w.FromCache = Ref(h.Static), int(h.StaticCount), true
	return b.setMovers(movers)
}

// save writes the world into the cache and makes room for it. The file appears
// whole or not at all.
func (b *builder) save(dir string, key [32]byte, movers []Mover) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "new-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(b.write(f, key, movers), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), cachePath(dir, key)); err != nil {
		return err
	}
	return trimCache(dir, CacheLimit)
}

func (b *builder) write(f io.Writer, key [32]byte, movers []Mover) error {
	w := b.geometry
	h := cacheHead{
		Magic: [16]byte([]byte(cacheMagic)), Key: key, Version: cacheVersion,
		Static: uint32(w.Static), StaticCount: uint64(w.StaticCount),
		Nodes: uint64(len(w.Nodes)), Triangles: uint64(w.Triangles()), Movers: uint64(len(movers)),
	}
	t := &tables{nodes: w.Nodes, planes: w.Planes, vertices: w.Vertices, attributes: w.Attributes}
	for i := range movers {
		m := &movers[i]
		t.movers = append(t.movers, cachedMover{First: uint64(m.First), Count: uint64(m.Count), Root: uint32(m.Root), Min: m.Min, Max: m.Max})
	}
	var head bytes.Buffer
	if err := binary.Write(&head, binary.LittleEndian, &h); err != nil {
		return err
	}
	sum := uint32(0)
	for _, p := range append([][]byte{head.Bytes()}, t.sections()...) {
		sum = crc32.Update(sum, castagnoli, p)
		if _, err := f.Write(p); err != nil {
			return err
		}
	}
	_, err := f.Write(binary.LittleEndian.AppendUint32(nil, sum))
	return err
}

// keptHead is the first bytes of a file of Keep. The data follow, then the CRC-32C of all before it.
func keptHead(key [32]byte) []byte { return append([]byte("raybridge kept\n\x00"), key[:]...) }

// Keep writes data that took long to make into the cache, and makes room for them. The key is a hash of everything that
// they follow from, the version of what made them included. The file appears whole or not at all.
func Keep(dir string, key [32]byte, data []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "new-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	head := keptHead(key)
	sum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, data)
	_, err = f.Write(head)
	for _, p := range [][]byte{data, binary.LittleEndian.AppendUint32(nil, sum)} {
		if err == nil {
			_, err = f.Write(p)
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), keptPath(dir, key)); err != nil {
		return err
	}
	return trimCache(dir, CacheLimit)
}

// Kept fills data with what Keep wrote for a key. The error of a file that isn't there wraps fs.ErrNotExist; one that is
// damaged, or has another length, is an error, too.
func Kept(dir string, key [32]byte, data []byte) error {
	path := keptPath(dir, key)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head, want := make([]byte, len(keptHead(key))), keptHead(key)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size := int64(len(head) + len(data) + 4); info.Size() != size {
		return fmt.Errorf("%w: %s: it is %d bytes long instead of %d", errCacheFile, path, info.Size(), size)
	}
	r := &checkedReader{ctx: context.Background(), from: f}
	var tail [4]byte
	err = errors.Join(r.fill(head), r.fill(data))
	sum := r.sum
	if err = errors.Join(err, r.fill(tail[:])); err != nil {
		return fmt.Errorf("%w: %w", errCacheFile, err)
	}
	if !bytes.Equal(head, want) || binary.LittleEndian.Uint32(tail[:]) != sum {
		return fmt.Errorf("%w: %s: its key or its checksum differs", errCacheFile, path)
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // else it goes earlier than others
	return nil
}

func keptPath(dir string, key [32]byte) string {
	return filepath.Join(dir, hex.EncodeToString(key[:16])+keptSuffix)
}

// trimCache removes the least recently used files beyond limit bytes.
func trimCache(dir string, limit int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var files []os.FileInfo
	total := int64(0)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), cacheSuffix) && !strings.HasSuffix(e.Name(), keptSuffix) {
			continue
		}
		if info, err := e.Info(); err == nil {
			files = append(files, info)
			total += info.Size()
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].ModTime().Before(files[j].ModTime()) })
	for _, f := range files {
		if total <= limit {
			return nil
		}
		if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		total -= f.Size()
	}
	return nil
}
