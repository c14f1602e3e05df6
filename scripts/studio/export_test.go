package studio

import "net/http"

// Handler returns the handler of the pages.
func (o *Server) Handler() http.Handler { return o.server.Handler }
