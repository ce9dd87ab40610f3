package app

// Handler serves an app over HTTP. The site is static, so nothing serves it:
// only the name is left, which the static generator's signature mentions.
type Handler struct{}
