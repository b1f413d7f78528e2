package io.jccl.config;

/**
 * The place that a setting's value came from.
 *
 * @param source the kind of place
 * @param name the name of the setting in that place, for example {@code NCCL_BUFFSIZE}
 */
public record Origin(Source source, String name) {

    /** The kinds of places, in the order in which they are searched. */
    public enum Source {
        /** The {@code CommunicatorConfig} that the application passed. */
        CONFIG("CommunicatorConfig"),
        /** A system property of the setting's name, {@code -DJCCL_X=…}. */
        PROPERTY("system property"),
        /** The environment. */
        ENVIRONMENT("environment"),
        /** No place: the default is used. */
        DEFAULT("default");

        private final String place;

        Source(String place) {
            this.place = place;
        }
    }

    /** Returns true if the value was set under one of NCCL's names, for which JCCL is lenient. */
    public boolean isOfNccl() {
        return name.startsWith("NCCL_");
    }

    /** Returns the kind of place as text. */
    public String place() {
        return source.place;
    }
}
