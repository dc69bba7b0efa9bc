//! What a device costs beside time, known to whoever asks what it costs.

use forebay_core::{DeviceCost, Instant, Price};

use crate::{Model, Queue, Request};

/// A model or a queue that says what a request costs, and is otherwise what it was.
pub(crate) struct Priced<D: ?Sized> {
    price: Price,
    device: Box<D>,
}

impl<D: ?Sized> Priced<D> {
    pub(crate) fn new(device: Box<D>, price: Price) -> Priced<D> {
        Priced { price, device }
    }
}

impl Model for Priced<dyn Model> {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        self.device.serve(at, request)
    }

    fn channels(&self) -> u32 {
        self.device.channels()
    }

    fn commands(&self) -> u32 {
        self.device.commands()
    }

    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn cost(&self) -> DeviceCost {
        DeviceCost { price: self.price, ..self.device.cost() }
    }
}

impl Queue for Priced<dyn Queue> {
    fn submit(&mut self, at: Instant, id: u64, request: Request) {
        self.device.submit(at, id, request);
    }

    fn next_completion(&self) -> Option<Instant> {
        self.device.next_completion()
    }

    fn complete(&mut self, at: Instant) -> Option<u64> {
        self.device.complete(at)
    }

    fn cancel(&mut self, at: Instant, id: u64) -> bool {
        self.device.cancel(at, id)
    }

    fn waits(&mut self, at: Instant, id: u64) -> bool {
        self.device.waits(at, id)
    }

    fn exited(&mut self, at: Instant, handler: u32) {
        self.device.exited(at, handler);
    }

    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn cost(&self) -> DeviceCost {
        DeviceCost { price: self.price, ..self.device.cost() }
    }
}
