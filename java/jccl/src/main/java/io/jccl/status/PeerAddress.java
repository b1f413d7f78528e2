package io.jccl.status;

/**
 * Where a rank's process is looked into.
 *
 * @param process distinguishes processes, on any host; begins with the process id
 * @param hostId distinguishes hosts
 * @param address of its status server, see {@link io.jccl.bootstrap.StatusPort}; empty if it has none
 */
public record PeerAddress(String process, String hostId, String address) {

    /** Returns true if process ids mean the same to this process and another: each container numbers its own processes. */
    boolean sharesProcessIds(String otherProcess) {
        String[] parts = process.split("-", 3);
        String[] others = otherProcess.split("-", 3);
        return parts.length == 3 && others.length == 3 && parts[1].equals(others[1]);
    }

    /** The process id, in the process's own namespace; -1 if it has none. */
    public long pid() {
        int end = process.indexOf('-');
        try {
            return Long.parseLong(end < 0 ? process : process.substring(0, end));
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}
