package io.jccl.config;

/**
 * NCCL's choice of a network, which is a choice between JCCL's transports between hosts: {@code Socket}, {@code IB}, or
 * what a plug-in calls itself.
 */
final class NcclNet {

    static final String NAME = "NCCL_NET";

    private static final String SOCKET = "Socket";
    private static final String IB = "IB";

    private NcclNet() {}

    /** {@code JCCL_NET_PLUGIN}: none for the networks that need none. */
    static NcclReading<String> plugin(String name, String text, NcclReading<String> plain) {
        if (!name.equals(NAME)) {
            return plain;
        }
        boolean own = text.equalsIgnoreCase(SOCKET) || text.equalsIgnoreCase(IB);
        return own ? NcclReading.of(NetworkSettings.NO_PLUGIN) : NcclReading.unset();
    }

    /** {@code JCCL_IB_DISABLE}: yes for sockets. */
    static NcclReading<Boolean> verbs(String name, String text, NcclReading<Boolean> plain) {
        if (!name.equals(NAME)) {
            return plain;
        }
        return text.equalsIgnoreCase(SOCKET) ? NcclReading.of(true) : NcclReading.unset();
    }
}
