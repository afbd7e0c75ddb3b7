-- Seating plans, and the numbers that a hall's seats keep through all of them.

-- name: plans_read
-- One plan without its places. $1 plan_id.
select p.organisation_id, p.hall_id, p.version, p.name, p.format, p.seat_count, p.drawing, p.warnings, p.created_at
  from plans p
 where p.plan_id = $1;

-- name: plans_public
-- Whether a published show uses the plan. $1 plan_id.
select exists (select from shows where plan_id = $1 and status <> 'draft');

-- name: plans_list
-- The plans of a hall, newest first. $1 hall_id, $2 the version to go on below, or null, $3 how many.
select p.plan_id, p.version, p.name, p.format, p.seat_count, p.created_at
  from plans p
 where p.hall_id = $1 and ($2::int is null or p.version < $2)
 order by p.version desc
 limit $3;

-- name: plan_categories_load
-- $1 plan_id.
select category_id, name, color from plan_categories where plan_id = $1 order by category_no;

-- name: plan_seats_load
-- In the document's order. A hall that statistics do not know yet seems to have one seat, and then any index would do for
-- the planner, also one that reads all of the hall for each seat. "At least this number, the least first" is for the index
-- by number alone. $1 plan_id, $2 hall_id.
select s.seat_no, h.seat_id, h.section, h.row_name, h.seat_name, s.label, s.category_no, s.kind, s.features, s.x, s.y
  from plan_seats s
 cross join lateral (select * from hall_seats h where h.hall_id = $2 and h.seat_no >= s.seat_no order by h.seat_no limit 1) h
 where s.plan_id = $1
 order by s.position;

-- name: plan_areas_load
-- As plan_seats_load. $1 plan_id, $2 hall_id.
select a.area_no, h.area_id, h.name, a.category_no, a.capacity, a.x, a.y, a.outline
  from plan_areas a
 cross join lateral (select * from hall_areas h where h.hall_id = $2 and h.area_no >= a.area_no order by h.area_no limit 1) h
 where a.plan_id = $1
 order by a.position;

-- name: plans_next_version
-- Asked under the hall's lock. $1 hall_id.
select coalesce(max(version), 0) + 1 from plans where hall_id = $1;

-- name: hall_seats_load
-- Every seat the hall ever had. $1 hall_id.
select seat_no, seat_id, section, row_name, seat_name from hall_seats where hall_id = $1 order by seat_no;

-- name: hall_areas_load
-- Every area the hall ever had. $1 hall_id.
select area_no, area_id, name from hall_areas where hall_id = $1 order by area_no;

-- name: plans_insert
-- $1 plan_id, $2 organisation_id, $3 hall_id, $4 version, $5 name, $6 format, $7 seat_count, $8 drawing, $9 warnings.
insert into plans (plan_id, organisation_id, hall_id, version, name, format, seat_count, drawing, warnings)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: hall_seats_insert
-- $1 hall_id, $2 organisation_id, $3 seat_no[], $4 seat_id[], $5 section[], $6 row_name[], $7 seat_name[].
insert into hall_seats (hall_id, organisation_id, seat_no, seat_id, section, row_name, seat_name)
select $1, $2, unnest($3::int[]), unnest($4::uuid[]), unnest($5::text[]), unnest($6::text[]), unnest($7::text[]);

-- name: hall_areas_insert
-- $1 hall_id, $2 organisation_id, $3 area_no[], $4 area_id[], $5 name[].
insert into hall_areas (hall_id, organisation_id, area_no, area_id, name)
select $1, $2, unnest($3::int[]), unnest($4::uuid[]), unnest($5::text[]);

-- name: plan_categories_insert
-- $1 plan_id, $2 organisation_id, $3 number of the first, $4 category_id[], $5 name[], $6 color[].
insert into plan_categories (plan_id, organisation_id, category_no, category_id, name, color)
select $1, $2, $3::int - 1 + generate_subscripts($4::uuid[], 1), unnest($4::uuid[]), unnest($5::text[]), unnest($6::text[]);

-- name: plan_seats_insert
-- $1 plan_id, $2 organisation_id, $3 position of the first, $4 seat_no[], $5 label[], $6 category_no[], $7 kind[], $8 features[], each
-- an array as text, $9 x[], $10 y[].
insert into plan_seats (plan_id, organisation_id, position, seat_no, label, category_no, kind, features, x, y)
select $1, $2, $3::int - 1 + generate_subscripts($4::int[], 1), unnest($4::int[]), unnest($5::text[]), unnest($6::int[]),
       unnest($7::text[]), unnest($8::text[])::text[], unnest($9::float8[]), unnest($10::float8[]);

-- name: plan_areas_insert
-- $1 plan_id, $2 organisation_id, $3 position of the first, $4 area_no[], $5 category_no[], $6 capacity[], $7 x[], $8 y[], $9 outline[],
-- each as text.
insert into plan_areas (plan_id, organisation_id, position, area_no, category_no, capacity, x, y, outline)
select $1, $2, $3::int - 1 + generate_subscripts($4::int[], 1), unnest($4::int[]), unnest($5::int[]), unnest($6::int[]),
       unnest($7::float8[]), unnest($8::float8[]), unnest($9::text[])::jsonb;
