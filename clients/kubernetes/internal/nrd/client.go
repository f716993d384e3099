// Package nrd is a client of nrd's REST API over a Unix socket (docs/api.md).
//
// Every call has a deadline from its context, every answer a size limit, and every failure is one sentence: nrd's own
// refusal with field and what is allowed, or that nrd does not answer. Nothing is repeated here; callers compare
// levels and come again.
package nrd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

const (
	// mostAnswer bounds an answer: a list of 10,000 workloads has about 8 MB.
	mostAnswer = 32 << 20
	// mostConnections to nrd, which admits 64 long polls of a client.
	mostConnections = 16
	// callDeadline of a call whose context has no earlier one.
	callDeadline = 10 * time.Second
)

// ErrUnreachable means that nrd gave no answer; a change may have happened or not.
var ErrUnreachable = errors.New("nrd does not answer on this node")

// temporary are the statuses after which the same request may succeed: nrd has not looked at what it requests.
var temporary = []int{http.StatusRequestTimeout, http.StatusLocked, http.StatusTooManyRequests, http.StatusServiceUnavailable}

// Refusal is nrd's answer to a request that it did not carry out.
type Refusal struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Field   string `json:"field"`
	Detail  string `json:"detail"`
	Allowed string `json:"allowed"`
}

func (r *Refusal) Error() string {
	text := r.Detail
	if r.Field != "" {
		text = r.Field + ": " + text
	}
	if r.Allowed != "" {
		text += " (allowed: " + r.Allowed + ")"
	}
	return "nrd refuses: " + text
}

// IsRefusal reports whether nrd decided against a request, as opposed to not answering, or to having no place for it now.
func IsRefusal(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && !slices.Contains(temporary, refusal.Status)
}

// IsNotFound reports whether nrd knows no such object.
func IsNotFound(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Status == http.StatusNotFound
}

// Client of one nrd. Safe for concurrent use.
type Client struct {
	http *http.Client
}

// New does not connect; the first call does.
func New(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", socket)
	}
	return &Client{http: &http.Client{
		Transport: &http.Transport{DialContext: dial, MaxConnsPerHost: mostConnections, MaxIdleConnsPerHost: 4,
			IdleConnTimeout: 90 * time.Second},
		// A redirect would be another server: nrd sends none.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// call sends one request and reads the whole answer into out, unless out is nil.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, callDeadline+pollTime(query))
	defer cancel()
	request, err := newRequest(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %s %s: %w", ErrUnreachable, method, path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s %s: %w", ErrUnreachable, method, path, err)
	}
	if len(text) > mostAnswer {
		return nil, fmt.Errorf("%s %s: nrd's answer is longer than %d bytes", method, path, mostAnswer)
	}
	if answer.StatusCode >= 300 {
		return nil, refusal(answer.StatusCode, text)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			return nil, fmt.Errorf("%s %s: cannot read nrd's answer: %w", method, path, err)
		}
	}
	return answer.Header, nil
}

func newRequest(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	target := "http://nrd" + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// pollTime is what a long poll adds to the deadline.
func pollTime(query url.Values) time.Duration {
	seconds, _ := strconv.Atoi(query.Get("wait"))
	return time.Duration(seconds) * time.Second
}

func refusal(status int, text []byte) error {
	problem := &Refusal{}
	if json.Unmarshal(text, problem) != nil || problem.Detail == "" {
		problem.Detail = string(bytes.TrimSpace(text[:min(len(text), 1000)]))
	}
	problem.Status = status
	return problem
}

func workloadPath(id string) string { return "/v1/workloads/" + url.PathEscape(id) }

// Put creates the workload or replaces its whole request. The same request again changes nothing.
func (c *Client) Put(ctx context.Context, id string, wanted Request) (Workload, error) {
	var granted Workload
	_, err := c.call(ctx, http.MethodPut, workloadPath(id), nil, wanted, &granted)
	return granted, err
}

// DryRun tells what Put would grant, and changes nothing.
func (c *Client) DryRun(ctx context.Context, id string, wanted Request) (Workload, error) {
	var answer struct {
		Workload Workload `json:"workload"`
	}
	_, err := c.call(ctx, http.MethodPut, workloadPath(id), url.Values{"dry_run": {"true"}}, wanted, &answer)
	return answer.Workload, err
}

// Delete gives a workload's grant back. One that does not exist is deleted already, and one that another client of nrd has
// created under the id stays.
func (c *Client) Delete(ctx context.Context, id string) error {
	_, err := c.call(ctx, http.MethodDelete, workloadPath(id), nil, nil, nil)
	var refusal *Refusal
	if IsNotFound(err) || (errors.As(err, &refusal) && refusal.Status == http.StatusForbidden) {
		return nil
	}
	return err
}

// Workloads lists all workloads.
func (c *Client) Workloads(ctx context.Context) ([]Workload, error) {
	return get[[]Workload](ctx, c, "/v1/workloads")
}

// Node tells what the node has and who has it.
func (c *Client) Node(ctx context.Context) (Node, error) { return get[Node](ctx, c, "/v1/node") }

// Pools lists the CPU pools. A node without pools has none.
func (c *Client) Pools(ctx context.Context) ([]Pool, error) {
	return get[[]Pool](ctx, c, "/v1/cpus/pools")
}

// CPUs tells what the CPUs share, and who has them.
func (c *Client) CPUs(ctx context.Context) (CPUs, error) { return get[CPUs](ctx, c, "/v1/cpus") }

// Onload tells the state of Onload on the node.
func (c *Client) Onload(ctx context.Context) (Onload, error) {
	return get[Onload](ctx, c, "/v1/onload")
}

// Health is an error if nrd does not answer.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return get[Health](ctx, c, "/v1/health")
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var found T
	_, err := c.call(ctx, http.MethodGet, path, nil, nil, &found)
	return found, err
}
