package io.jccl.integration;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Simulated hosts: network namespaces of {@code scripts/simulated-hosts --serve}. They end when this object is closed,
 * and when this process ends in any way.
 */
public final class SimulatedHosts implements AutoCloseable {

    private static final String ROOT_USER = "root";
    private static final int RENDEZVOUS_PORT = 29_511;

    private final Process server;
    private final BufferedReader replies;
    private final BufferedWriter requests;
    private final List<String> holders = new ArrayList<>();

    private SimulatedHosts(Process server) {
        this.server = server;
        this.replies = new BufferedReader(new InputStreamReader(server.getInputStream(), UTF_8));
        this.requests = new BufferedWriter(new OutputStreamWriter(server.getOutputStream(), UTF_8));
    }

    /** Returns the reason why simulated hosts do not work here; empty if they do. */
    public static Optional<String> reasonUnavailable() {
        if (!ROOT_USER.equals(System.getProperty("user.name"))) {
            return Optional.of("network namespaces need root");
        }
        if (script().isEmpty()) {
            return Optional.of("scripts/simulated-hosts is not there");
        }
        try (SimulatedHosts two = start("--machines", "2", "--loss", "1", "--rate", "1000")) {
            return two.holders.size() == 2
                    ? Optional.empty()
                    : Optional.of("scripts/simulated-hosts does not work here");
        } catch (UncheckedIOException e) {
            return Optional.of(e.getCause().getMessage());
        }
    }

    /** Starts simulated hosts with the script's options. */
    public static SimulatedHosts start(String... options) {
        List<String> command = new ArrayList<>(List.of(script().orElseThrow().toString(), "--serve"));
        command.addAll(List.of(options));
        SimulatedHosts hosts = null;
        try {
            hosts = new SimulatedHosts(
                    new ProcessBuilder(command).redirectErrorStream(true).start());
            hosts.readHolders();
            return hosts;
        } catch (IOException e) {
            if (hosts != null) {
                hosts.close();
            }
            throw new UncheckedIOException(e);
        }
    }

    private static Optional<Path> script() {
        for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
            Path script = at.resolve("scripts/simulated-hosts");
            if (Files.isExecutable(script)) {
                return Optional.of(script);
            }
        }
        return Optional.empty();
    }

    private void readHolders() throws IOException {
        for (String line = readReply(); !line.equals("ready"); line = readReply()) {
            if (!line.startsWith("host ")) {
                throw new IOException(line);
            }
            holders.add(line.substring(line.lastIndexOf(' ') + 1));
        }
    }

    private String readReply() throws IOException {
        String line = replies.readLine();
        if (line == null) {
            throw new IOException("scripts/simulated-hosts ended");
        }
        return line;
    }

    /** Returns a command prefix that runs a rank on a host, in a launcher's environment. */
    public List<String> inside(int host, int rank, int size, String... environment) {
        List<String> command = nsenter(host);
        command.add("env");
        command.add("JCCL_HOST_ID=host" + host);
        command.add("JCCL_RANK=" + rank);
        command.add("JCCL_SIZE=" + size);
        command.add("JCCL_LOCAL_RANK=0");
        command.addAll(List.of(environment));
        return command;
    }

    /** Returns the setting of a rendezvous at an address of host 0's first interface. */
    static String rendezvousAt(String address) {
        return "JCCL_RENDEZVOUS=" + address + ":" + RENDEZVOUS_PORT + "/0123456789abcdef0123456789abcdef";
    }

    /** Returns the number of bytes that an interface of a host has sent. */
    long sentBytes(int host, String interfaceName) throws IOException {
        return Long.parseLong(run(host, "cat", "/sys/class/net/" + interfaceName + "/statistics/tx_bytes")
                .trim());
    }

    /** Runs a short command on a host; returns its output. */
    String run(int host, String... command) throws IOException {
        List<String> line = nsenter(host);
        line.addAll(List.of(command));
        Process process = new ProcessBuilder(line).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        int status = process.onExit().join().exitValue();
        if (status != 0) {
            throw new IOException(String.join(" ", command) + ": status=" + status + ": " + output);
        }
        return output;
    }

    private List<String> nsenter(int host) {
        return new ArrayList<>(List.of("nsenter", "--target", holders.get(host), "--net", "--mount", "--"));
    }

    /** Sets all links of a host down. */
    public void linkDown(int host) {
        request("down " + host);
    }

    /** Sets all links of a host up again. */
    public void linkUp(int host) {
        request("up " + host);
    }

    /** Drops everything that a host receives; the host can still send. */
    public void dropIngress(int host) {
        request("drop-ingress " + host);
    }

    private void request(String line) {
        try {
            requests.write(line + "\n");
            requests.flush();
            String reply = readReply();
            if (!reply.equals("done")) {
                throw new IOException(line + ": " + reply);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            requests.close(); // the script ends with its input
        } catch (IOException e) {
            server.destroy();
        }
        try {
            if (!server.waitFor(10, TimeUnit.SECONDS)) {
                server.destroyForcibly();
            }
        } catch (InterruptedException e) {
            server.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
