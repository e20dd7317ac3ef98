// True in the single-file page, which leaves out all that needs a server.
declare const __OFFLINE__: boolean;
