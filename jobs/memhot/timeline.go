package memhot

import (
	"container/heap"
	"time"
)

// timeline orders items by their moment. An item is in one timeline at most.
type timeline struct{ heap itemHeap }

func (t *timeline) len() int { return len(t.heap) }

func (t *timeline) add(i *item, when time.Time) {
	i.when = when
	heap.Push(&t.heap, i)
}

func (t *timeline) move(i *item, when time.Time) {
	i.when = when
	heap.Fix(&t.heap, i.index)
}

func (t *timeline) remove(i *item) { heap.Remove(&t.heap, i.index) }

// next is when the first moment is; zero when there is none.
func (t *timeline) next() time.Time {
	if len(t.heap) == 0 {
		return time.Time{}
	}
	return t.heap[0].when
}

// due removes the first item whose moment has come.
func (t *timeline) due(now time.Time) *item {
	if len(t.heap) == 0 || t.heap[0].when.After(now) {
		return nil
	}
	return heap.Pop(&t.heap).(*item)
}

// itemHeap is container/heap's interface.
type itemHeap []*item

func (h itemHeap) Len() int           { return len(h) }
func (h itemHeap) Less(i, j int) bool { return h[i].when.Before(h[j].when) }
func (h itemHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *itemHeap) Push(x any) {
	i := x.(*item)
	i.index = len(*h)
	*h = append(*h, i)
}

func (h *itemHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}
