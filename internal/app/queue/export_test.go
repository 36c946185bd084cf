package queue

// SeatLease is seatLease, which another process would take.
const SeatLease = seatLease
