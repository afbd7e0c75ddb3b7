package ops_test
import ("testing";"time";"fmt"
"github.com/rowlock/rowlock/internal/fixture"
"github.com/rowlock/rowlock/internal/store"
"github.com/rowlock/rowlock/sql/ops")
func TestScaleTmp(t *testing.T){
 n:=newNight(t)
 pool:=n.db.Pool("")
 ex:=func(sql string,a ...any){t.Helper();if _,e:=pool.Exec(t.Context(),sql,a...);e!=nil{t.Fatal(e)}}
 _=fixture.Key
 m:=fixture.Show(t,n.s,fixture.Options{Seats:20000,Floor:100000,RowLength:200})
 ex(`set session_replication_role=replica`)
 ex(`insert into shows (show_id, organisation_id,event_id,venue_id,hall_id,plan_id,status,starts_at,time_zone,currency,definition) select gen_random_uuid(), organisation_id,event_id,venue_id,hall_id,plan_id,status,starts_at,time_zone,currency,definition from shows, generate_series(1,49) where show_id=$1`,m.ID)
 ex(`create table b as select show_id, organisation_id from shows where plan_id=(select plan_id from shows where show_id=$1) and show_id<>$1`,m.ID)
 ex(`insert into show_prices select b.show_id, category,ticket_type,b.organisation_id,amount_minor from show_prices p, b where p.show_id=$1`,m.ID)
 ex(`insert into reservations (show_id,reservation_id,organisation_id,customer_id,status,created_at,expires_at,hold_seconds,closed_at,close_reason,currency,total_minor,places,seat_nos,seat_types,seat_prices,area_nos,area_types,area_requested,area_quantities,area_prices)
  select show_id, gen_random_uuid(), organisation_id, 'c'||i, case when i<=10000 then 'active' else 'cancelled' end, now(), now()+interval '15 minutes',900, case when i>10000 then now() end, 'buyer','EUR', 5500,2, array[(i-1)%10000], '{standard}', '{2500}', '{0}','{standard}','{1}','{1}','{3000}' from b, generate_series(1,20000) i`)
 ex(`insert into show_seats(show_id,seat_no,organisation_id) select show_id,i,organisation_id from b, generate_series(0,19999) i`)
 ex(`update show_seats s set state='h', reservation_id=r.reservation_id, held_until=r.expires_at from reservations r where r.show_id=s.show_id and r.seat_nos[1]=s.seat_no and r.status='active' and s.show_id in (select show_id from b)`)
 ex(`insert into show_areas(show_id,area_no,organisation_id,area_id,name,category,capacity,held) select b.show_id,area_no,b.organisation_id,gen_random_uuid(),name,category,capacity,10000 from show_areas a,b where a.show_id=$1`,m.ID)
 ex(`insert into changes(show_id,version,n,organisation_id,at,type,actor,reason,reservation_id,before_status,after_status,expires_at,seat_nos,seat_states,area_nos,area_units)
  select show_id, row_number() over (partition by show_id order by k, status desc),0,organisation_id, now(), case k when 1 then 'reservation.created' else 'reservation.cancelled' end,'x','buyer',reservation_id,case k when 2 then 'active' end, case k when 1 then 'active' else 'cancelled' end, expires_at, seat_nos, case k when 1 then 'h' else 'a' end, '{0}', array[case k when 1 then 1 else -1 end] from (select r.*,k from reservations r join b using(show_id), generate_series(1,2) k where k=1 or r.status='cancelled') x`)
 ex(`insert into show_heads(show_id,organisation_id,version) select show_id,organisation_id,30000 from b`)
 ex(`insert into idempotency_keys select 'o', gen_random_uuid(), r.organisation_id,'\x00',now(),r.show_id, json_build_object('r',r.reservation_id,'h',json_build_object('s','active','c',r.created_at))::text from reservations r join b using(show_id)`)
 ex(`vacuum analyze`)
 p:=n.db.Pool(store.RoleOps)
 fmt.Println("filled")
 for _,r:=range ops.Rules(){ s:=time.Now(); rows,e:=p.Query(t.Context(),r.SQL); if e!=nil{t.Fatal(e)}; c:=0; for rows.Next(){c++}; fmt.Println(r.Name,time.Since(s).Round(time.Millisecond),c,rows.Err()) }
 var show,res,seat string
 pool.QueryRow(t.Context(),`select show_id::text, reservation_id::text from reservations join b using(show_id) where status='active' limit 1`).Scan(&show,&res)
 seat=m.Seats[7].Label
 for _,q:=range ops.Queries(){ for _,with:=range []bool{true,false}{ pr:=map[string]string{}; for _,x:=range q.Params{ if with {pr[x]=map[string]string{"show":show,"reservation":res,"seat":seat}[x]}}; if !with&&len(q.Params)==0{continue}
  s:=time.Now(); _,rows,e:=ops.Run(t.Context(),p,q.Name,pr); fmt.Println(q.Name,with,time.Since(s).Round(time.Millisecond),len(rows),e)}}
}
