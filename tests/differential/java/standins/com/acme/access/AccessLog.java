package com.acme.access;

import java.util.Map;

import world.World;

/** A log whose reader keeps its place: it does not deliver a line again, unless it is asked to. */
public final class AccessLog {
    private final World.Source source;

    private AccessLog(World.Source source) {
        this.source = source;
    }

    public record Line(int number) {
        public Object offset() {
            return number;
        }

        public String url() {
            return "/" + number;
        }

        public String user() {
            return "u" + number;
        }
    }

    public static AccessLog open(Map<?, ?> conf) {
        return new AccessLog(World.of(conf).source("log"));
    }

    public Line poll() {
        Integer number = source.take();
        return number == null ? null : new Line(number);
    }

    public void rewind(Line line) {
        source.giveBack(line.number());
    }
}
