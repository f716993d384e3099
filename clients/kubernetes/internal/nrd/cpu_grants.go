package nrd

import "encoding/json"

// CPUGrants are one grant as an object, or several as a list, as nrd sends them.
type CPUGrants []CPUGrant

// UnmarshalJSON accepts both forms.
func (g *CPUGrants) UnmarshalJSON(text []byte) error { return readOneOrMore(text, (*[]CPUGrant)(g)) }

// CPURequests have the same two forms.
type CPURequests []CPURequest

// UnmarshalJSON accepts both forms.
func (r *CPURequests) UnmarshalJSON(text []byte) error {
	return readOneOrMore(text, (*[]CPURequest)(r))
}

func readOneOrMore[T any](text []byte, list *[]T) error {
	if len(text) > 0 && text[0] == '{' {
		*list = make([]T, 1)
		return json.Unmarshal(text, &(*list)[0])
	}
	return json.Unmarshal(text, list)
}
