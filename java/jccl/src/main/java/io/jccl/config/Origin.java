package io.jccl.config;

/**
 * Where a value came from.
 *
 * @param source which kind of place
 * @param name the name it had there, for example {@code NCCL_BUFFSIZE}
 */
public record Origin(Source source, String name) {

    /** The places that are looked at, in this order. */
    public enum Source {
        /** The {@code CommunicatorConfig} that the application passed. */
        CONFIG("CommunicatorConfig"),
        /** A system property of the setting's name, {@code -DJCCL_X=…}. */
        PROPERTY("system property"),
        /** The environment. */
        ENVIRONMENT("environment"),
        /** Nowhere: the default holds. */
        DEFAULT("default");

        private final String place;

        Source(String place) {
            this.place = place;
        }
    }

    /** Returns true if the value stands under one of NCCL's names, for which JCCL is lenient. */
    public boolean isOfNccl() {
        return name.startsWith("NCCL_");
    }

    /** The place as text. */
    public String place() {
        return source.place;
    }
}
