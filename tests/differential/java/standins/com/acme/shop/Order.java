package com.acme.shop;

import java.io.Serializable;
import java.util.List;

/** Order number N has two lines. */
public record Order(int number) implements Serializable {
    public String id() {
        return "o" + number;
    }

    public boolean isTest() {
        return false;
    }

    public void check() {}

    public List<String> lines() {
        return List.of(id() + "/1", id() + "/2");
    }

    @Override
    public String toString() {
        return id();
    }
}
