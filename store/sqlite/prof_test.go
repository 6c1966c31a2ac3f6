package sqlite_test
import ("testing";"fmt";"sync";"time";"os";"strings"
"github.com/plinthhost/plinth/store";"github.com/plinthhost/plinth/store/sqlite")
func wb() string { b,_:=os.ReadFile("/proc/self/io"); for _,l:=range strings.Split(string(b),"\n"){ if strings.HasPrefix(l,"write_bytes"){return l}}; return "" }
func TestProf(t *testing.T){
	s := mustOpen(t, sqlite.Options{Dir: t.TempDir()})
	t.Log(wb())
	t0:=time.Now()
	for j := range 2000 {
		_, err := s.Append(t.Context(), store.Batch{Aggregate: fmt.Sprint("ses_", j%16), Events: []store.Event{{ID: fmt.Sprintf("evt_019a%012x%014d", j,j), Type: "session.prompt.admitted", Actor:"token:abcdefg", Version: 1, Data: []byte(strings.Repeat("abcdefgh",25)), Time: time.Now()}}})
		if err!=nil {t.Fatal(err)}
	}
	t.Log("single", time.Since(t0)/2000, wb())
	t0=time.Now()
	var wg sync.WaitGroup
	for g := range 64 { wg.Go(func(){ for j := range 400 {
		_, err := s.Append(t.Context(), store.Batch{Aggregate: fmt.Sprint("ses_", g), Events: []store.Event{{ID: fmt.Sprintf("evt_019b%012x%014d", j,g), Type: "session.prompt.admitted", Actor:"token:abcdefg", Version: 1, Data: []byte(strings.Repeat("abcdefgh",25)), Time: time.Now()}}})
		if err!=nil {t.Error(err)}
	}})}
	wg.Wait()
	t.Log("group", time.Since(t0)/(64*400), wb(), s.Stats())
	t0=time.Now()
	for range 2000 { s.Read(t.Context(), "ses_3", 100, 1) }
	t.Log("read", time.Since(t0)/2000)
}
