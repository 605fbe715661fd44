// Verifies a lease with golang-jwt, and prints whom it is for.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/big"
	"os"
	"strings"

	"github.com/golang-jwt/jwt"
)

type set struct {
	Keys []struct{ Kid, X, Y string }
}

func (keys set) find(token *jwt.Token) (interface{}, error) {
	for _, key := range keys.Keys {
		if key.Kid == token.Header["kid"] && token.Method == jwt.SigningMethodES256 {
			x, _ := base64.RawURLEncoding.DecodeString(key.X)
			y, _ := base64.RawURLEncoding.DecodeString(key.Y)
			x1, y1 := new(big.Int).SetBytes(x), new(big.Int).SetBytes(y)
			return &ecdsa.PublicKey{Curve: elliptic.P256(), X: x1, Y: y1}, nil
		}
	}
	return nil, errors.New("the key is unknown")
}

func main() {
	lease, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	var keys set
	if err := json.Unmarshal(text, &keys); err != nil {
		log.Fatal(err)
	}
	token, err := jwt.Parse(strings.TrimSpace(string(lease)), keys.find)
	if err != nil {
		log.Fatal(err)
	}
	claims := token.Claims.(jwt.MapClaims)
	if !claims.VerifyAudience(os.Getenv("APP_LICENSE_PRODUCT"), true) {
		log.Fatal("the lease is for another product")
	}
	parts := strings.Split(token.Raw, ".")
	changed := "A" + parts[2][1:]
	if changed == parts[2] {
		changed = "B" + parts[2][1:]
	}
	if _, err := jwt.Parse(parts[0]+"."+parts[1]+"."+changed, keys.find); err == nil {
		log.Fatal("a changed signature was accepted")
	}
	fmt.Println(claims["sub"])
}
