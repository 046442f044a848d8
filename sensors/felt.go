package sensors

import "errors"

// Felt says how the data of a type of sensors shows the parts of a weather.State: a phrase for a table each, "" for a part that
// it doesn't show.
type Felt struct {
	Visibility, Rain, Snow, Wetness, Wind, Cloud string
	// None is the reason why the data shows nothing of it, where users may expect that it does.
	None string
}

// FeltPart is a part of the weather, by its key in files, and how a sensor feels it.
type FeltPart struct{ Key, How string }

// Parts returns the parts of the weather in the order of their keys, those too that aren't felt.
func (f *Felt) Parts() []FeltPart {
	return []FeltPart{
		{"visibility", f.Visibility},
		{"rain", f.Rain},
		{"snow", f.Snow},
		{"wetness", f.Wetness},
		{"wind", f.Wind},
		{"cloud", f.Cloud},
	}
}

// Keys returns the keys of the parts that are felt.
func (f *Felt) Keys() (keys []string) {
	for _, p := range f.Parts() {
		if p.How != "" {
			keys = append(keys, p.Key)
		}
	}
	return keys
}

func (f *Felt) validate() error {
	if f.None != "" && f.Keys() != nil {
		return errors.New("it feels the weather, and says why it doesn't")
	}
	return nil
}
