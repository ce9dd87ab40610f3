package app

import "time"

// State would be a named value that components observe, kept in the browser's
// storage. The page has one state, in its address.
type State struct{}

// ExpiresIn changes nothing.
func (s State) ExpiresIn(time.Duration) State { return s }

// ExpiresAt changes nothing.
func (s State) ExpiresAt(time.Time) State { return s }

// Persist changes nothing.
func (s State) Persist() State { return s }

// PersistWithEncryption changes nothing.
func (s State) PersistWithEncryption() State { return s }

// Broadcast changes nothing.
func (s State) Broadcast() State { return s }

// Observer would follow a State.
type Observer struct{}

// While changes nothing.
func (o Observer) While(func() bool) Observer { return o }

// OnChange changes nothing.
func (o Observer) OnChange(func()) Observer { return o }

// WithBroadcast changes nothing.
func (o Observer) WithBroadcast() Observer { return o }

const noStates = "states are left out of this build"

type stateManager struct{}

func (stateManager) Observe(Context, string, any) Observer { panic(noStates) }

func (stateManager) Get(Context, string, any) { panic(noStates) }

func (stateManager) Set(Context, string, any) State { panic(noStates) }

func (stateManager) Delete(Context, string) { panic(noStates) }

func (stateManager) Cleanup() {}

func (stateManager) CleanupExpiredPersistedStates(Context) {}
