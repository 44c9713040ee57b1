-- Opens bolt.py of the current directory in the server, and prints what comes back.
vim.lsp.config("ackdoctor", { cmd = { vim.env.SERVER_PYTHON, "-m", "ackdoctor", "server" }, filetypes = { "python" } })
vim.lsp.enable("ackdoctor")
vim.cmd("edit bolt.py")
vim.bo.filetype = "python"

local function say(...) io.stdout:write(table.concat(vim.tbl_map(tostring, { ... }), " ") .. "\n") end
local function count(number)
  return vim.wait(60000, function() return #vim.diagnostic.get(0) == number end, 20)
end

say("found", count(1))
local found = vim.diagnostic.get(0)[1]
say(found.code, found.lnum, found.col, found.end_col)
vim.api.nvim_win_set_cursor(0, { found.lnum + 1, found.col })
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
local position = vim.lsp.util.make_position_params(0, client.offset_encoding)
for _, answer in pairs(vim.lsp.buf_request_sync(0, "textDocument/hover", position, 60000)) do
  say(vim.split(answer.result.contents.value, "\n")[1])
end
vim.lsp.buf.code_action({ context = { only = { "source.fixAll.ackdoctor" }, diagnostics = {} }, apply = true })
say("fixed", count(0))
say(vim.api.nvim_buf_get_lines(0, found.lnum, found.lnum + 1, false)[1])
vim.cmd("undo")
say("undone", count(1))
vim.cmd("qa!")
