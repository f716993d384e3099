package nrd

import "encoding/json"

// CPUGrants are one grant as an object, or several as a list, as nrd sends them.
type CPUGrants []CPUGrant

// UnmarshalJSON accepts both forms.
func (g *CPUGrants) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		*g = make(CPUGrants, 1)
		return json.Unmarshal(text, &(*g)[0])
	}
	return json.Unmarshal(text, (*[]CPUGrant)(g))
}
