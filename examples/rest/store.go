package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/mcpbelt/mcpbelt/registry/rest"
)

const (
	storeKey   = "the key of the store"
	storeToken = "the-token-of-an-employee"
)

// A store is a petstore in memory. Its routes are those of the API, so that what is
// called is what the document describes.
type store struct {
	mu   sync.Mutex // held while a request is served
	pets []pet
}

type pet map[string]json.RawMessage

func newStore(api *rest.API) http.Handler {
	s := &store{}
	handlers := map[string]http.HandlerFunc{
		"addPet":           s.addPet,
		"getPetById":       s.getPet,
		"findPetsByStatus": s.findPets,
	}
	mux := http.NewServeMux()
	for _, e := range api.Endpoints {
		mux.HandleFunc(e.Method+" "+e.Path, func(w http.ResponseWriter, r *http.Request) {
			handle := handlers[e.Name]
			switch {
			case r.Header.Get("api_key") != storeKey || r.Header.Get("Authorization") != "Bearer "+storeToken:
				http.Error(w, "who are you?", http.StatusUnauthorized)
			case handle == nil:
				http.Error(w, "not in this store", http.StatusNotImplemented)
			default:
				s.mu.Lock()
				defer s.mu.Unlock()
				handle(w, r)
			}
		})
	}
	return mux
}

func (s *store) addPet(w http.ResponseWriter, r *http.Request) {
	var p pet
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p["id"] = json.RawMessage(strconv.Itoa(len(s.pets) + 1))
	s.pets = append(s.pets, p)
	answer(w, p)
}

func (s *store) getPet(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("petId"))
	if err != nil || id < 1 || id > len(s.pets) {
		http.Error(w, fmt.Sprintf("there is no pet %q", r.PathValue("petId")), http.StatusNotFound)
		return
	}
	answer(w, s.pets[id-1])
}

func (s *store) findPets(w http.ResponseWriter, r *http.Request) {
	found := []pet{}
	for _, p := range s.pets {
		if string(p["status"]) == strconv.Quote(r.URL.Query().Get("status")) {
			found = append(found, p)
		}
	}
	answer(w, found)
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}
