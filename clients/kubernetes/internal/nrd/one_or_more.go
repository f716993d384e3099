package nrd

import "encoding/json"

// OneOrMore is an object, or a list of several, as nrd sends it.
type OneOrMore[T any] []T

// UnmarshalJSON accepts both forms.
func (l *OneOrMore[T]) UnmarshalJSON(text []byte) error {
	list := (*[]T)(l)
	if len(text) > 0 && text[0] == '{' {
		*list = make([]T, 1)
		return json.Unmarshal(text, &(*list)[0])
	}
	return json.Unmarshal(text, list)
}
