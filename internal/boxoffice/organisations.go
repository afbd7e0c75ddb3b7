package boxoffice

import "github.com/google/uuid"

// DefaultOrganisationID is the organisation that every database has from its
// first migration. Customers, guests and mock users belong to it.
var DefaultOrganisationID = uuid.MustParse("00000000-0000-7000-8000-000000000001")
