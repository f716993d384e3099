package nrd

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// mostWait of one long poll, in seconds.
	mostWait = 60
	// pollPause after each answer, so that a thousand changes are a few steps of those who follow them.
	pollPause = time.Second
)

// WatchWorkloads calls changed at first, after each change of the workloads, and once nrd has been away, until the
// context ends.
func (c *Client) WatchWorkloads(ctx context.Context, changed func()) error {
	return watch(ctx, changed, func(revision string) (string, error) {
		header, err := c.call(ctx, http.MethodGet, "/v1/workloads", since(revision), nil, nil)
		return header.Get("X-Nrd-Revision"), err
	})
}

// WatchCapacity does so for what the node can grant at all: CPUs that are online, pools, and what others hold of the
// reserves.
func (c *Client) WatchCapacity(ctx context.Context, changed func()) error {
	return watch(ctx, changed, func(revision string) (string, error) {
		var node Node
		_, err := c.call(ctx, http.MethodGet, "/v1/node", since(revision), nil, &node)
		return strconv.FormatInt(node.Capacity.Revision, 10), err
	})
}

// since makes a long poll of a question, which is answered at once without a revision.
func since(revision string) url.Values {
	if revision == "" {
		return nil
	}
	return url.Values{"since": {revision}, "wait": {strconv.Itoa(mostWait)}}
}

func watch(ctx context.Context, changed func(), ask func(revision string) (string, error)) error {
	for revision := ""; ; {
		next, err := ask(revision)
		if err != nil {
			next = "" // of an nrd with another store the number may be the same
		} else if next != revision {
			changed()
		}
		revision = next
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollPause):
		}
	}
}
