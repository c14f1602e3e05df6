package functions_test
import ("testing";"os";"time";"fmt";"syscall")
func TestScratch(t *testing.T) {
	s, rs := hotPaths(t)
	n := 300
	for _, name := range []string{"an item","365 points","200 feedback"} {
		if f := os.Getenv("ONLY"); f != "" && f != name { continue }
		r := rs[name]
		for range 20 { serve(s, r) }
		a := testing.AllocsPerRun(20, func() { serve(s, r) })
		var u0, u1 syscall.Rusage
		syscall.Getrusage(0,&u0); b := time.Now()
		for range n { s.Clock.Advance(time.Second); serve(s, r) }
		syscall.Getrusage(0,&u1)
		fmt.Println(name, "allocs", a, "cpu us", (u1.Utime.Nano()+u1.Stime.Nano()-u0.Utime.Nano()-u0.Stime.Nano())/1000/int64(n), "wall", time.Since(b)/time.Duration(n))
	}
}
