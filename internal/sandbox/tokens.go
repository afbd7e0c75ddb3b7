package sandbox

// How a merchant's customers pay.
const (
	MethodCard     = "card"     // with a token
	MethodRedirect = "redirect" // always at the hosted page
)

// The tokens that stand for cards. A token that is not listed is declined, with
// the code unknown_token.
const (
	TokenOK                = "sbx_ok"                 // charged
	TokenDeclined          = "sbx_declined"           // declined: card_declined
	TokenInsufficientFunds = "sbx_insufficient_funds" // declined: insufficient_funds
	TokenSlow              = "sbx_slow"               // processing, charged after Options.Slow, and answered only then
	TokenTimeout           = "sbx_timeout"            // charged, and never answered
	TokenAsync             = "sbx_async"              // answered as processing, charged after Options.Async
	TokenAsyncDeclined     = "sbx_async_declined"     // answered as processing, declined after Options.Async
	TokenAsyncLate         = "sbx_async_late"         // as sbx_async, and it is too late to cancel it
	TokenRedirect          = "sbx_redirect"           // the buyer has to confirm at the hosted page
	TokenStorm             = "sbx_webhooks_storm"     // charged; each webhook comes five times, the later ones first
	TokenRefundFails       = "sbx_refund_fails"       // charged; its refunds fail
	TokenRefundFailsOnce   = "sbx_refund_fails_once"  // charged; each of its refunds fails, and succeeds when it is sent again
	TokenRefundSlow        = "sbx_refund_slow"        // charged; its refunds are pending, and succeed after Options.Async
)

// Amounts, in minor units of whatever currency, that turn sbx_ok into another
// token, for those who can choose the price and not the card. They are exact,
// and named after the status codes of HTTP.
const (
	AmountAsync    = 202 // as sbx_async
	AmountDeclined = 402 // as sbx_declined
	AmountTimeout  = 504 // as sbx_timeout
)

// behaviour is what a payment does.
type behaviour struct {
	state  State
	code   string // why it failed
	later  State  // what it becomes by itself; "": nothing
	slow   bool   // answered only when it has become that
	lost   bool   // done, and never answered
	late   bool   // cannot be cancelled while it is processing
	storm  bool
	refund State // what its refunds are at first
	mends  bool  // a refund that has failed succeeds the next time
}

var tokens = map[string]behaviour{
	TokenOK:                {state: Succeeded},
	TokenDeclined:          {state: Failed, code: "card_declined"},
	TokenInsufficientFunds: {state: Failed, code: "insufficient_funds"},
	TokenSlow:              {state: Processing, later: Succeeded, slow: true},
	TokenTimeout:           {state: Succeeded, lost: true},
	TokenAsync:             {state: Processing, later: Succeeded},
	TokenAsyncDeclined:     {state: Processing, later: Failed, code: "card_declined"},
	TokenAsyncLate:         {state: Processing, later: Succeeded, late: true},
	TokenRedirect:          {state: RequiresAction, later: Failed, code: "session_expired"},
	TokenStorm:             {state: Succeeded, storm: true},
	TokenRefundFails:       {state: Succeeded, refund: Failed},
	TokenRefundFailsOnce:   {state: Succeeded, refund: Failed, mends: true},
	TokenRefundSlow:        {state: Succeeded, refund: Pending},
}

var amounts = map[int64]string{
	AmountAsync:    TokenAsync,
	AmountDeclined: TokenDeclined,
	AmountTimeout:  TokenTimeout,
}

// behaves says what a payment does that is asked for in this way.
func behaves(method, token string, amount int64) behaviour {
	if method == MethodRedirect {
		token = TokenRedirect
	}
	if other, special := amounts[amount]; special && token == TokenOK {
		token = other
	}
	b, known := tokens[token]
	switch {
	case token == "":
		return behaviour{state: Failed, code: "token_missing"}
	case !known:
		return behaviour{state: Failed, code: "unknown_token"}
	}
	return b
}
