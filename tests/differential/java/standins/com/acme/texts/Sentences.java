package com.acme.texts;

import java.util.List;
import java.util.Map;

import world.World;

/** A source that forgets a sentence when it delivers it. */
public final class Sentences {
    private final World.Source source;

    private Sentences(World.Source source) {
        this.source = source;
    }

    public static Sentences open(Map<String, Object> conf) {
        return new Sentences(World.of(conf).source("sentences"));
    }

    public String poll() {
        Integer number = source.take();
        return number == null ? null : "w" + number + "a w" + number + "b";
    }

    public void bury(List<Object> sentence) {}
}
