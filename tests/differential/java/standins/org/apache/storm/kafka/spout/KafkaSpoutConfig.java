package org.apache.storm.kafka.spout;

import java.io.Serializable;
import java.util.List;

import org.apache.storm.tuple.Fields;

/** The part of the real class that the fixtures call. */
public final class KafkaSpoutConfig<K, V> implements Serializable {
    public record Record<K, V>(K key, V value) {}

    public interface Translator<K, V> extends Serializable {
        List<Object> apply(Record<K, V> record);
    }

    final Translator<K, V> translator;
    final Fields fields;

    private KafkaSpoutConfig(Translator<K, V> translator, Fields fields) {
        this.translator = translator;
        this.fields = fields;
    }

    public static <K, V> Builder<K, V> builder(String servers, String... topics) {
        return new Builder<>();
    }

    public static final class Builder<K, V> {
        private Translator<K, V> translator;
        private Fields fields;

        public Builder<K, V> setProp(String key, Object value) {
            return this;
        }

        public Builder<K, V> setRecordTranslator(Translator<K, V> translator, Fields fields) {
            this.translator = translator;
            this.fields = fields;
            return this;
        }

        public KafkaSpoutConfig<K, V> build() {
            return new KafkaSpoutConfig<>(translator, fields);
        }
    }
}
