package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Patience is that of rainbow's clients with one call. Until it ends they also wait for a connection.
const Patience = 200 * time.Second

// Certificates are files. Without Cert and Key the client does not say who it is.
type Certificates struct {
	CA     string `json:"ca"`
	Cert   string `json:"cert"`
	Key    string `json:"key"`
	WaitMs int    `json:"waitMs"`
}

// Dial returns when the connection is ready for use, as rainbow's command line does before anything else.
func Dial(host string, certificates *Certificates) (*grpc.ClientConn, error) {
	patience := Patience
	secured := insecure.NewCredentials()
	if certificates != nil {
		config, err := certificates.config()
		if err != nil {
			return nil, err
		}
		secured = credentials.NewTLS(config)
		if certificates.WaitMs > 0 {
			patience = time.Duration(certificates.WaitMs) * time.Millisecond
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return grpc.DialContext(ctx, host, grpc.WithTransportCredentials(secured), grpc.WithBlock())
}

func (files *Certificates) config() (*tls.Config, error) {
	authority, err := os.ReadFile(files.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s has no certificate", files.CA)
	}
	if files.Cert == "" {
		return config, nil
	}
	own, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	config.Certificates = []tls.Certificate{own}
	return config, err
}
