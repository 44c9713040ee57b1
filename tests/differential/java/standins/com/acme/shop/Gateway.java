package com.acme.shop;

import java.util.Map;

import world.World;

/** Sends mails and charges cards. */
public final class Gateway {
    private final World world;

    private Gateway(World world) {
        this.world = world;
    }

    public static Gateway connect(Map<String, Object> conf) {
        return new Gateway(World.of(conf));
    }

    public void mail(Object order) {
        call("mail", order);
    }

    /** A replayed order is charged again, and the real gateway recognises it by its number. */
    public void chargeOnce(Object order) {
        call("charge", order);
    }

    private void call(String kind, Object order) {
        if (world.refuses(kind)) throw new IllegalStateException("no answer");
        world.effect(kind, order);
    }
}
