package studio

import "net/http"

// Handler returns the handler of the pages.
func (s *Server) Handler() http.Handler { return s.server.Handler }
