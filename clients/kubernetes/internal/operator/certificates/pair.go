// Package certificates has the certificate with which the webhook serves: one that each replica makes itself, or files.
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"slices"
	"time"
)

const (
	lifetime = 48 * time.Hour
	// renewal is due after half of the lifetime, so that there is a day for a failure.
	renewal = lifetime / 2
	// clockError that certificates tolerate between two hosts.
	clockError = time.Hour

	organization = "nrd-kube operator"
)

// pair is a serving certificate and the authority that signed it and nothing else: its key is gone.
type pair struct {
	serving   tls.Certificate
	authority []byte // DER
	hosts     []string
	made      time.Time // by the wall clock, as clients see it: steps of it count, and suspends
}

func (p *pair) isFor(hosts []string, now time.Time) bool {
	return p.canServe(hosts, now) && now.Sub(p.made) < renewal
}

// canServe reports whether clients accept it that trust its authority.
func (p *pair) canServe(hosts []string, now time.Time) bool {
	return p != nil && slices.Equal(p.hosts, hosts) && !now.Before(p.made.Add(-clockError)) && now.Before(p.made.Add(lifetime))
}

// makePair makes an authority and lets it sign a certificate for hosts. name tells replicas apart.
func makePair(name string, hosts []string, now time.Time) (*pair, error) {
	authority, authorityKey, err := template(name, now)
	if err != nil {
		return nil, err
	}
	authority.IsCA, authority.BasicConstraintsValid, authority.MaxPathLenZero = true, true, true
	authority.KeyUsage = x509.KeyUsageCertSign
	signed, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	serving, servingKey, err := template(name, now)
	if err != nil {
		return nil, err
	}
	serving.Subject.CommonName = "serving " + name
	serving.KeyUsage, serving.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			serving.IPAddresses = append(serving.IPAddresses, address)
		} else {
			serving.DNSNames = append(serving.DNSNames, host)
		}
	}
	certificate, err := x509.CreateCertificate(rand.Reader, serving, authority, servingKey.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	return &pair{tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: servingKey}, signed, hosts, now.Round(0)}, nil
}

func template(name string, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{Organization: []string{organization}, CommonName: name},
		NotBefore: now.Add(-clockError), NotAfter: now.Add(lifetime)}, key, nil
}

// mostAuthorities in the configuration: of replicas that were replaced within the lifetime.
const mostAuthorities = 64

// bundle has the authorities of this replica, ours, beside those of the other replicas. It leaves out what has expired and
// what is not of this program.
func bundle(found []byte, name string, now time.Time, ours ...*pair) []byte {
	var kept []*x509.Certificate
	for block, rest := pem.Decode(found); block != nil; block, rest = pem.Decode(rest) {
		each, err := x509.ParseCertificate(block.Bytes)
		if err == nil && slices.Equal(each.Subject.Organization, []string{organization}) && each.Subject.CommonName != name && now.Before(each.NotAfter) {
			kept = append(kept, each)
		}
	}
	slices.SortStableFunc(kept, func(a, b *x509.Certificate) int { return b.NotBefore.Compare(a.NotBefore) })
	kept = kept[:min(len(kept), mostAuthorities-len(ours))]
	var text []byte
	for _, each := range ours {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: each.authority})...)
	}
	for _, each := range kept {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: each.Raw})...)
	}
	return text
}

// has reports whether the API server trusts this pair.
func has(found []byte, wanted *pair) bool {
	for block, rest := pem.Decode(found); block != nil; block, rest = pem.Decode(rest) {
		if slices.Equal(block.Bytes, wanted.authority) {
			return true
		}
	}
	return false
}
