package com.acme.shop;

import java.util.Map;

import world.World;

/** A queue of orders that keeps an order until it is deleted, and a stock with transactions. */
public final class Inventory {
    private final World world;
    private final World.Source orders;
    private boolean reads;
    private String reserved;

    private Inventory(World world) {
        this.world = world;
        orders = world.source("orders");
    }

    public static Inventory connect(Map<String, Object> conf) {
        return new Inventory(World.of(conf));
    }

    public Order next() {
        if (!reads) orders.reconnect();
        reads = true;
        Integer number = orders.lock();
        return number == null ? null : new Order(number);
    }

    public void delete(Object id) {
        orders.delete(Integer.parseInt(((String) id).substring(1)));
    }

    public void offerAgain(Order order) {
        orders.giveBack(order.number());
    }

    public void reserve(String line) {
        reserved = line;
    }

    public void commit() {
        if (world.refuses("reserve")) throw new IllegalStateException("no answer");
        world.effect("reserve", reserved);
    }
}
