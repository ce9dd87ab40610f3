package build

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// Policy is the content security policy of every page, in its own head: nothing
// inline, nothing from elsewhere. Integrity attributes are not part of it: a
// page opened as a file, or in a frame without an origin, may not check them
// and would lose its scripts. The worker checks what it keeps instead.
const Policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"

// headersName is the file in which Netlify and Cloudflare Pages look for
// headers; they do not publish it.
const headersName = "_headers"

var hashedName = regexp.MustCompile(`\.[0-9a-f]{10}\.`)

// headers lists the headers that help, for hosts that read them from a file of
// the site and for whoever sets up another one. Pages may be framed by any
// site: that is what embedding is.
func headers(dir string) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "/*\n  Content-Security-Policy: %s; frame-ancestors *\n", Policy)
	b.WriteString("  X-Content-Type-Options: nosniff\n  Referrer-Policy: no-referrer\n  Access-Control-Allow-Origin: *\n")
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && hashedName.MatchString(name) {
			fmt.Fprintf(&b, "/%s\n  Cache-Control: public, max-age=31536000, immutable\n", name)
		}
		return err
	})
	return []byte(b.String()), err
}
