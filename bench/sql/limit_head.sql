-- ($1 show_id, $2 version, $3 changed_at)
update show_heads set version = $2, changed_at = $3 where show_id = $1;
