package infra_test
import ("testing";"fmt";"slices";"strings";"growthworkspace/functions";"time")
func TestZZ(t *testing.T){
	s := newStage(t)
	for _, area := range functions.All() { for _, op := range area.Operations(nil) {
		m := map[string]bool{}
		st := ""
		for _, v := range s.variants(t, op) {
			s.Clock.Advance(time.Minute)
			got := s.functions[area.Name](t, v.event)
			st += fmt.Sprint(" ", got.StatusCode)
			for _, c := range s.recorder.take(t, s.Table.Name()) { 
				x := strings.TrimPrefix(usage(area.Name, c), area.Name+" ")
				if strings.Contains(c.resource,"/index/") { x += "("+c.resource[len(c.resource)-4:]+")" }
				if got.StatusCode<300 && strings.Contains(v.name,"once") == false || true { m[x]=true } }
		}
		var all []string
		for k := range m { all = append(all,k) }
		slices.Sort(all)
		t.Log(op.ID, st, all)
	}}
}
