package com.acme.sensors;

import java.util.Map;

import world.World;

/** A source that forgets a reading when it delivers it. */
final class Readings {
    private final World.Source source;

    private Readings(World.Source source) {
        this.source = source;
    }

    static Readings open(Map<String, Object> conf) {
        return new Readings(World.of(conf).source("readings"));
    }

    String poll() {
        Integer number = source.take();
        return number == null ? null : "s" + number;
    }

    void retry(String reading) {
        source.giveBack(Integer.parseInt(reading.substring(1)));
    }
}
