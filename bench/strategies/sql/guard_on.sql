alter table show_seats enable trigger show_seats_keep_owner;
