// Package mail writes the mails that buyers get and hands them to a port,
// [Sender]: an SMTP server, or a folder on a developer's machine.
//
// It decides nothing: which mail is due is the jobs' business, and so is
// trying again. For that an error says whether trying again can help
// ([ErrPermanent]), and a mail has an ID made of what it is about, so that the
// second try is the same mail to everybody who sees both.
//
// A mail goes this way:
//
//	Notice ─ Templates.Render ─▶ Message ─ compose ─▶ MIME ─ Sender.Send ─▶ SMTP server or folder
//
// Names, titles and labels in a [Notice] are typed by strangers. They pass
// through one function, clean, before they are written anywhere, and through
// html/template on their way into HTML. Errors name no recipient, because they
// end in job rows and log lines, where no personal data may be.
//
// docs/notifications.md says it for people who run a shop.
package mail
