package app

import "github.com/maxence-charriere/go-app/v10/pkg/errors"

// Nothing is stored, so nothing is stored encrypted.
var errEncryption = errors.New("encrypted storage is left out of this build")

func encrypt(string, []byte) ([]byte, error) { return nil, errEncryption }

func decrypt(string, []byte) ([]byte, error) { return nil, errEncryption }
