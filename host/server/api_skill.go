package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/plinthhost/plinth/client/protocol"
)

// placeInput names a place on the host.
type placeInput struct {
	Directory string `query:"directory" maxLength:"4096" doc:"An absolute path: what the files of its project add is listed too."`
}

func (in *placeInput) in() protocol.In { return protocol.In{Directory: in.Directory} }

// skillRoutes registers the list of skills.
func (s *Server) skillRoutes(api huma.API) {
	route(s, api, protocol.ScopeRead, huma.Operation{
		OperationID: "list-skills", Method: http.MethodGet, Path: "/v1/skills", Summary: "Skills that agents may load, by name",
	}, func(ctx context.Context, in *placeInput) (*answer[protocol.SkillList], error) {
		list, err := s.listSkills(ctx, in.in())
		return &answer[protocol.SkillList]{list}, err
	})
}

func (s *Server) listSkills(ctx context.Context, in protocol.In) (protocol.SkillList, error) {
	list, err := s.backend.Skills.List(ctx, in)
	if list.Skills == nil {
		list.Skills = []protocol.Skill{}
	}
	return list, err
}
