package com.acme.accounts;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;

import world.World;

/** The countries of users, and a database in which an insert is an effect of the message in its first value. */
public final class Accounts {
    public static Accounts connect(Map<?, ?> conf) {
        return new Accounts();
    }

    public String countryOf(String user) {
        return "CH";
    }

    public static Connection database(Map<?, ?> conf) {
        World world = World.of(conf);
        Object statement = fake(Statement.class, arguments -> {
            String sql = (String) arguments[0];
            if (!sql.startsWith("insert")) return true;
            if (world.refuses("store")) throw new SQLException("no answer");
            world.effect("store", sql.replaceFirst("'/(\\d+)'.*", "$1"));
            return true;
        });
        return (Connection) fake(Connection.class, arguments -> statement);
    }

    private interface Answer {
        Object to(Object[] arguments) throws SQLException;
    }

    private static Object fake(Class<?> type, Answer answer) {
        return Proxy.newProxyInstance(Accounts.class.getClassLoader(), new Class<?>[] {type},
            (self, method, arguments) -> answer.to(arguments));
    }
}
