package io.jccl.status;

/**
 * The address at which others look into the process of a rank.
 *
 * @param process differs between processes of all hosts; begins with the process id
 * @param hostId differs between hosts
 * @param address the address of the status server, see {@link io.jccl.membership.StatusPort}; empty if there is none
 */
public record PeerAddress(String process, String hostId, String address) {

    /**
     * Returns true if process ids have the same meaning in this process and another. Each container numbers its own
     * processes.
     */
    boolean sharesProcessIds(String otherProcess) {
        String[] parts = process.split("-", 3);
        String[] others = otherProcess.split("-", 3);
        return parts.length == 3 && others.length == 3 && parts[1].equals(others[1]);
    }

    /** Returns the process id in the process's own namespace; -1 if it has none. */
    public long pid() {
        int end = process.indexOf('-');
        try {
            return Long.parseLong(end < 0 ? process : process.substring(0, end));
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}
