package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"testing"
	"time"
)

var hosts = []string{"nrd-operator.nrd-system.svc", "192.0.2.1"}

func pairAt(t *testing.T, name string, now time.Time) *pair {
	t.Helper()
	made, err := makePair(name, hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// verify as the API server does with the caBundle.
func verify(p *pair, bundle []byte, host string, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	serving, err := x509.ParseCertificate(p.serving.Certificate[0])
	if err != nil {
		return err
	}
	_, err = serving.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}

func count(bundle []byte) int {
	found := 0
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		found++
	}
	return found
}

func TestAReplicaAddsItsAuthorityToThatOfTheOther(t *testing.T) {
	now := time.Now()
	one, two := pairAt(t, "one", now), pairAt(t, "two", now)
	shared := bundle(bundle(nil, "one", now, one), "two", now, two)
	for _, each := range []*pair{one, two} {
		for _, host := range hosts {
			if err := verify(each, shared, host, now); err != nil || !has(shared, each) {
				t.Errorf("%s: %v", host, err)
			}
		}
	}
	if err := verify(one, bundle(nil, "two", now, two), hosts[0], now); err == nil {
		t.Error("trusted without its authority")
	}
	if err := verify(one, shared, "other.nrd-system.svc", now); err == nil {
		t.Error("trusted for another host")
	}
	if again := bundle(shared, "two", now, two); count(again) != 2 {
		t.Errorf("%d authorities after the same was added again", count(again))
	}
}

func TestWhatHasExpiredOrIsNotOursGoes(t *testing.T) {
	now := time.Now()
	gone := pairAt(t, "gone", now.Add(-lifetime-time.Minute))
	foreign, key, err := template("foreign", now)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Subject.Organization = []string{"other"}
	der, err := x509.CreateCertificate(nil, foreign, foreign, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	found := append(bundle(nil, "gone", now, gone), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	found = append(found, []byte("no certificate")...)
	if left := bundle(found, "one", now, pairAt(t, "one", now)); count(left) != 1 {
		t.Errorf("%d authorities, want our own", count(left))
	}
}

func TestTheNumberOfAuthoritiesIsLimited(t *testing.T) {
	now := time.Now()
	var found []byte
	first := pairAt(t, "first", now)
	found = bundle(found, "first", now, first)
	for i := range mostAuthorities + 5 {
		found = bundle(found, fmt.Sprint(i), now, pairAt(t, fmt.Sprint(i), now.Add(time.Duration(i+1)*time.Second)))
	}
	if count(found) != mostAuthorities || has(found, first) {
		t.Errorf("%d authorities, want the newest %d", count(found), mostAuthorities)
	}
	if found = bundle(found, "first", now, first); count(found) != mostAuthorities || !has(found, first) {
		t.Error("a replica cannot put its authority back")
	}
}

func TestACertificateIsRenewedInTime(t *testing.T) {
	now := time.Now()
	made := pairAt(t, "one", now)
	var missing *pair
	for _, row := range []struct {
		p     *pair
		hosts []string
		now   time.Time
		is    bool
	}{
		{made, hosts, now, true},
		{made, hosts, now.Add(renewal - time.Second), true},
		{made, hosts, now.Add(renewal), false},
		{made, hosts, now.Add(-2 * clockError), false},
		{made, hosts[:1], now, false},
		{missing, hosts, now, false},
	} {
		if is := row.p.isFor(row.hosts, row.now); is != row.is {
			t.Errorf("%v at %v: %v", row.hosts, row.now.Sub(now), is)
		}
	}
}

func TestACertificateServesWithinItsLifetime(t *testing.T) {
	now := time.Now()
	made := pairAt(t, "one", now)
	for after, can := range map[time.Duration]bool{-2 * clockError: false, -clockError: true, lifetime - time.Second: true, lifetime: false} {
		if is := made.canServe(hosts, now.Add(after)); is != can {
			t.Errorf("%v after it was made: %v", after, is)
		}
	}
}

func TestStepsOfTheClockAgeACertificate(t *testing.T) {
	// Go compares by the monotonic clock if both times have it, which misses steps and suspends.
	if made := pairAt(t, "one", time.Now()).made; made != made.Round(0) {
		t.Errorf("%v has the monotonic clock", made)
	}
}
