package main

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	netmail "net/mail"

	"github.com/rowlock/rowlock/internal/config"
	"github.com/rowlock/rowlock/internal/jobs"
	"github.com/rowlock/rowlock/internal/mail"
	"github.com/rowlock/rowlock/internal/payment"
	"github.com/rowlock/rowlock/internal/tickets"
)

// gatewaysOf are the payment gateways that the settings name, in the order in
// which their methods are offered. A new gateway is added here.
func gatewaysOf(cfg *config.Config) (all []payment.Gateway) {
	if cfg.StripeKey != "" {
		all = append(all, payment.NewStripe(payment.StripeOptions{
			Key: cfg.StripeKey, WebhookSecret: cfg.StripeWebhookSecret, URL: cfg.StripeURL,
		}))
	}
	if cfg.SandboxURL != "" {
		all = append(all, payment.NewSandbox(payment.SandboxOptions{
			URL: cfg.SandboxURL, Key: cfg.SandboxKey, WebhookSecret: cfg.SandboxWebhookSecret,
		}))
	}
	return all
}

// signerOf signs ticket codes. Without a key, which production refuses, it
// makes one that ends with the process.
func signerOf(cfg *config.Config, log *slog.Logger) (*tickets.Signer, error) {
	if cfg.TicketKeys == "" {
		log.Warn("TICKET_KEYS is not set: ticket codes are good until this process ends")
		seed := make([]byte, 32)
		rand.Read(seed)
		return tickets.NewSigner([][]byte{seed})
	}
	seeds, err := tickets.ParseSeeds(cfg.TicketKeys)
	if err != nil {
		return nil, fmt.Errorf("TICKET_KEYS: %w", err)
	}
	return tickets.NewSigner(seeds)
}

// post writes and sends mails; nil when none are to be sent.
func (s *service) post() (*jobs.Post, error) {
	if s.cfg.MailURL == "" {
		return nil, nil
	}
	sender, err := mail.ParseURL(s.cfg.MailURL)
	if err != nil {
		return nil, fmt.Errorf("MAIL_URL: %w", err)
	}
	templates, err := mail.LoadTemplates(s.cfg.MailTemplates)
	if err != nil {
		return nil, err
	}
	from, err := netmail.ParseAddress(s.cfg.MailFrom)
	if err != nil {
		return nil, fmt.Errorf("MAIL_FROM: %w", err)
	}
	post := &jobs.Post{
		Store: s.store, Checkout: s.checkout, Tickets: s.tickets, Sender: sender, Templates: templates,
		From: *from, Shop: s.cfg.ShopName, BookingURL: s.cfg.BookingURL, OfferURL: s.cfg.OfferURL,
	}
	if s.cfg.MailReplyTo != "" {
		to, err := netmail.ParseAddress(s.cfg.MailReplyTo)
		if err != nil {
			return nil, fmt.Errorf("MAIL_REPLY_TO: %w", err)
		}
		post.ReplyTo = *to
	}
	return post, nil
}
